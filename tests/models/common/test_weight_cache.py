from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.weight_cache import WeightKeyedCache, own_caches
from titer.models.registry import model_class


def history() -> History:
    return History(Facts.from_rows([(0, 0, 1, 1)]), Vocabulary.numbered(2, 1))


class Counter:
    def __init__(self) -> None:
        self.computed = 0

    def __call__(self) -> int:
        self.computed += 1
        return self.computed


def test_a_result_is_computed_once_for_the_same_inputs():
    model, past, compute, cache = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert [cache(model, past, compute, 3) for _ in range(3)] == [1, 1, 1]


def test_another_history_key_or_weight_recomputes_the_result():
    model, past, compute, cache = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert cache(model, past, compute) == 1
    assert cache(model, history(), compute) == 2
    assert cache(model, past, compute, 5) == 3
    with torch.no_grad():
        model.bias.add_(1)
    assert cache(model, past, compute, 5) == 4
    model.load_state_dict(nn.Linear(1, 1).state_dict())
    assert cache(model, past, compute, 5) == 5
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.ones(1)).backward()
    optimiser.step()
    assert cache(model, past, compute, 5) == 6


def test_results_of_inference_tensors_are_not_cached():
    with torch.inference_mode():
        model = nn.Linear(1, 1)
    past, compute, cache = history(), Counter(), WeightKeyedCache[int]()
    assert [cache(model, past, compute) for _ in range(2)] == [1, 2]


def test_a_changed_or_replaced_buffer_recomputes_the_result():
    model, past, compute, cache = nn.BatchNorm1d(1), history(), Counter(), WeightKeyedCache[int]()
    assert [cache(model, past, compute) for _ in range(2)] == [1, 1]
    assert model.running_mean is not None
    model.running_mean.add_(1)
    assert cache(model, past, compute) == 2
    model.running_mean = torch.zeros(1)
    assert cache(model, past, compute) == 3
    model.running_mean = torch.zeros(1)  # of the same version as the one before
    assert cache(model, past, compute) == 4


def test_a_changed_tensor_outside_of_the_model_recomputes_the_result():
    model, past, compute, cache = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    outside = torch.zeros(1)
    assert [cache(model, past, compute, also=(outside,)) for _ in range(2)] == [1, 1]
    outside.add_(1)
    assert cache(model, past, compute, also=(outside,)) == 2


def test_a_copy_is_empty():
    model, past, compute, cache = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert cache(model, past, compute) == 1
    assert deepcopy(cache)(model, past, compute) == 2
    assert cache(model, past, compute) == 1


MODELS = [("titer", {}), ("path_mixture", {}), ("path_mixture", {"names": False})]


@pytest.mark.parametrize(("name", "settings"), MODELS)
@torch.no_grad()
def test_scores_change_when_a_model_is_prepared_again(name: str, settings: dict[str, Any]):
    rows = [(0, 0, 1, 0), (1, 0, 2, 1), (2, 0, 3, 2), (3, 0, 0, 3), (3, 0, 2, 4), (2, 0, 0, 5)]
    facts, vocabulary = Facts.from_rows(rows), Vocabulary.numbered(4, 1)
    past, query = History(facts, vocabulary), Queries.one(3, 0, 9)
    torch.manual_seed(0)
    model = model_class(name)(vocabulary, TimeAxis(), model_class(name).Config(**settings)).eval()
    model.prepare(facts.before(2), Facts.empty())
    before = model.score(query, past)
    model.prepare(facts, Facts.empty())
    assert not torch.equal(model.score(query, past), before)
    assert torch.equal(model.score(query, past), deepcopy(model).score(query, past))


def test_a_thread_with_its_own_results_neither_reads_nor_replaces_those_of_others():
    model, past, compute, cache = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert cache(model, past, compute) == 1
    with own_caches():
        assert [cache(model, past, compute) for _ in range(2)] == [2, 2]
        assert cache(model, history(), compute) == 3
    assert cache(model, past, compute) == 1
