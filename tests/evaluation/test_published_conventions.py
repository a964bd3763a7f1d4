import pytest
import torch

from titer.data.dataset import Dataset
from titer.evaluation.evaluate import evaluate
from titer.evaluation.protocol import Past
from titer.evaluation.published_conventions import PUBLISHED_CONVENTIONS, under_published_convention
from titer.graph.filters import Filter
from titer.models.base import Model
from titer.models.registry import model_class, model_names


def prepared(name: str, dataset: Dataset, **settings) -> Model:
    torch.manual_seed(0)
    cls = model_class(name)
    model = cls(dataset.vocabulary, dataset.axis, cls.Config(**settings)).eval()
    model.prepare(dataset.train, dataset.valid)
    return model


def test_every_convention_belongs_to_a_model_and_names_its_source():
    assert set(PUBLISHED_CONVENTIONS) <= set(model_names())
    assert all(convention.source for convention in PUBLISHED_CONVENTIONS.values())


def test_a_convention_with_the_same_filter_and_history_ranks_the_same_scores(world_data: Dataset):
    model = prepared("xerte", world_data, num_edges=(2,), attention_dim=8)
    found = evaluate(model, world_data, "valid")
    result = under_published_convention(found, model)
    assert result is not None
    protocol, metrics = result
    reached = found.ranks.reached
    expected = float((1 / found.ranks_under(protocol)[reached]).sum()) / len(reached)
    assert 0 < int(reached.sum()) < len(reached)
    assert metrics.mrr == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_the_convention_of_cygnet_equals_a_frozen_vocabulary_with_the_static_filter(world_data: Dataset):
    follows, frozen = (prepared("cygnet", world_data, dim=8, frozen_vocabulary=frozen) for frozen in (False, True))
    result = under_published_convention(evaluate(follows, world_data, "test"), follows)
    assert result is not None
    protocol, metrics = result
    assert (protocol.filter, protocol.past) == (Filter.STATIC, Past.FROZEN_AT_TRAIN)
    rolling = evaluate(frozen, world_data, "test", type(protocol)(filter=Filter.STATIC)).metrics()
    assert metrics.mrr == pytest.approx(rolling.mrr, abs=1e-9)
    assert metrics.mrr != pytest.approx(
        evaluate(follows, world_data, "test", type(protocol)(filter=Filter.STATIC)).metrics().mrr
    )


def test_a_model_without_a_known_convention_has_none(world_data: Dataset):
    model = prepared("recurrency", world_data)
    assert under_published_convention(evaluate(model, world_data, "valid"), model) is None
