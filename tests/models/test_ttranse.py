from typing import ClassVar

import torch

from models.cases import ModelCase
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.ttranse import TTransE, TTransEConfig


class TestTTransE(ModelCase):
    name = "ttranse"
    settings: ClassVar = {"dim": 16, "num_periods": 10, "dropout": 0.0}
    training: ClassVar = {"epochs": 3, "batch_size": 64, "learning_rate": 0.02}
    least_mrr = 0.6
    explains = False


def test_the_score_is_the_negative_squared_distance_from_the_translated_subject():
    vocabulary = Vocabulary.numbered(5, 2)
    model = TTransE(vocabulary, TimeAxis(), TTransEConfig(dim=4, num_periods=3)).eval()
    train = Facts.from_rows([(0, 0, 1, 4), (2, 1, 3, 5), (4, 1, 3, 6)])
    model.prepare(train, Facts.empty())
    with torch.inference_mode():
        scores = model.score(Queries.one(2, 3, 5), History(train, vocabulary))[0]
        translated = model.entity.weight[2] + model.relation.weight[3] + model.period.weight[1]
        expected = torch.stack([-(translated - entity).square().sum() for entity in model.entity.weight])
    torch.testing.assert_close(scores, expected)


def test_there_is_no_dropout_by_default():
    vocabulary = Vocabulary.numbered(5, 2)
    train = Facts.from_rows([(0, 0, 1, 4), (2, 1, 3, 6)])
    model, query, history = TTransE(vocabulary, TimeAxis()), Queries.one(2, 3, 5), History(train, vocabulary)
    with torch.inference_mode():
        assert torch.equal(model.train().plausibility(query, history), model.eval().plausibility(query, history))
