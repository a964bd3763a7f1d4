"""The base class of embedding models, tested with the simplest of them."""

import math

import pytest
import torch

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import PeriodConfig
from titer.models.registry import model_class
from titer.models.ttranse import TTransE, TTransEConfig

VOCABULARY = Vocabulary.numbered(5, 1)
TRAIN = Facts.from_rows([(0, 0, 1, 10), (0, 0, 2, 12), (0, 0, 1, 12), (2, 0, 3, 15)])


def ttranse(num_periods: int = 6) -> TTransE:
    torch.manual_seed(0)
    model = TTransE(VOCABULARY, TimeAxis(), TTransEConfig(dim=4, num_periods=num_periods)).eval()
    model.prepare(TRAIN, Facts.empty())
    return model


@pytest.mark.parametrize("name", ["ttranse", "ta_distmult", "tntcomplex"])
def test_a_time_outside_of_training_is_treated_as_the_nearest_time_of_training(name: str):
    torch.manual_seed(0)
    model = model_class(name)(VOCABULARY, TimeAxis()).eval()
    model.prepare(TRAIN, Facts.empty())
    history = History(TRAIN, VOCABULARY)
    with torch.inference_mode():
        first, early, last, late = (model.score(Queries.one(0, 0, time), history) for time in (10, -7, 15, 10**6))
    assert torch.equal(first, early)
    assert torch.equal(last, late)
    assert not torch.equal(first, last)


@pytest.mark.parametrize(
    ("num_periods", "expected"), [(6, [0, 1, 5]), (2, [0, 0, 1]), (1, [0, 0, 0]), (60, [0, 10, 50])]
)
def test_the_time_of_training_is_divided_into_periods(num_periods: int, expected: list[int]):
    found = ttranse(num_periods).period_of(torch.tensor([10, 11, 15]), num_periods)
    assert found.tolist() == expected


def test_other_true_answers_are_excluded_from_the_loss():
    model, history = ttranse(), History(TRAIN, VOCABULARY)
    query, answer = Queries.one(0, 0, 12), torch.tensor([1])
    with torch.no_grad():
        probability = model.score(query, history)[0].softmax(dim=0)
        loss = float(model.training_step(query, answer, history).loss)
    assert loss == pytest.approx(-math.log(float(probability[1] / (1 - probability[2]))), rel=1e-4)


def test_an_unseen_entity_has_the_mean_embedding_of_the_trained_ones():
    model = ttranse()
    rows = model.of_all(model.entity.weight, History(TRAIN, Vocabulary.numbered(6, 1)))
    trained, mean = model.entity.weight[:4], model.entity.weight[:4].mean(dim=0)
    torch.testing.assert_close(rows, torch.cat([trained, mean.expand(2, -1)]))


@pytest.mark.parametrize("wrong", [{"dim": 0}, {"dropout": 1.0}, {"dropout": -0.1}, {"num_periods": 0}])
def test_invalid_settings_are_rejected(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        PeriodConfig(**wrong)
