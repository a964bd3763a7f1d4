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
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.registry import model_class


def history() -> History:
    return History(Facts.from_rows([(0, 0, 1, 1)]), Vocabulary.numbered(2, 1))


class Counter:
    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.made


def test_nothing_is_made_twice_from_the_same():
    model, past, make, remembered = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert [remembered(model, past, make, 3) for _ in range(3)] == [1, 1, 1]


def test_another_history_another_time_or_other_weights_make_it_anew():
    model, past, make, remembered = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert remembered(model, past, make) == 1
    assert remembered(model, history(), make) == 2
    assert remembered(model, past, make, 5) == 3
    with torch.no_grad():
        model.bias.add_(1)
    assert remembered(model, past, make, 5) == 4
    model.load_state_dict(nn.Linear(1, 1).state_dict())
    assert remembered(model, past, make, 5) == 5
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.ones(1)).backward()
    optimiser.step()
    assert remembered(model, past, make, 5) == 6


def test_weights_whose_changes_cannot_be_seen_are_never_trusted():
    with torch.inference_mode():
        model = nn.Linear(1, 1)
    past, make, remembered = history(), Counter(), WeightKeyedCache[int]()
    assert [remembered(model, past, make) for _ in range(2)] == [1, 2]


def test_a_buffer_that_changes_or_is_replaced_makes_it_anew():
    model, past, make, remembered = nn.BatchNorm1d(1), history(), Counter(), WeightKeyedCache[int]()
    assert [remembered(model, past, make) for _ in range(2)] == [1, 1]
    assert model.running_mean is not None
    model.running_mean.add_(1)
    assert remembered(model, past, make) == 2
    model.running_mean = torch.zeros(1)
    assert remembered(model, past, make) == 3
    model.running_mean = torch.zeros(1)  # as new as the one before it
    assert remembered(model, past, make) == 4


def test_a_tensor_of_elsewhere_counts_as_well():
    model, past, make, remembered = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    elsewhere = torch.zeros(1)
    assert [remembered(model, past, make, also=(elsewhere,)) for _ in range(2)] == [1, 1]
    elsewhere.add_(1)
    assert remembered(model, past, make, also=(elsewhere,)) == 2


def test_a_copy_remembers_nothing():
    model, past, make, remembered = nn.Linear(1, 1), history(), Counter(), WeightKeyedCache[int]()
    assert remembered(model, past, make) == 1
    assert deepcopy(remembered)(model, past, make) == 2
    assert remembered(model, past, make) == 1


MODELS = [("titer", {}), ("path_mixture", {}), ("path_mixture", {"names": False})]


@pytest.mark.parametrize(("name", "settings"), MODELS)
@torch.no_grad()
def test_models_that_were_prepared_anew_do_not_score_as_before(name: str, settings: dict[str, Any]):
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
