from typing import ClassVar

import torch

from models.cases import ModelCase
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingConfig
from titer.models.ta_distmult import CHARACTERS, TADistMult, encode_dates


class TestTADistMult(ModelCase):
    name = "ta_distmult"
    settings: ClassVar = {"dim": 16, "dropout": 0.0}
    training: ClassVar = {"epochs": 3, "batch_size": 64, "learning_rate": 0.02}
    least_mrr = 0.7
    explains = False


def decoded(labels: list[str]) -> list[str]:
    return ["".join(CHARACTERS[code] for code in row) for row in encode_dates(labels).tolist()]


def test_dates_are_encoded_at_the_positions_where_they_differ():
    assert decoded(["2014-08-30", "2014-08-31", "2014-09-01"]) == ["830", "831", "901"]
    assert decoded(["9", "10", "11"]) == ["09", "10", "11"]
    assert decoded(["-1", "0", "1"]) == ["-1", "00", "01"]
    assert decoded(["2014"]) == [""]


def test_the_score_is_the_distmult_product_with_the_lstm_output():
    vocabulary = Vocabulary.numbered(5, 2)
    axis = TimeAxis(TimeUnit.DAY, "2014-08-29")
    train = Facts.from_rows([(0, 0, 1, 0), (2, 1, 3, 1), (4, 1, 3, 3)])
    model = TADistMult(vocabulary, axis, EmbeddingConfig(dim=4)).eval()
    model.prepare(train, Facts.empty())
    with torch.inference_mode():
        scores, next_day = (model.score(Queries.one(2, 3, t), History(train, vocabulary))[0] for t in (1, 2))
        lstm = torch.nn.LSTM(4, 4)
        lstm.load_state_dict({f"{name}_l0": weight for name, weight in model.lstm.state_dict().items()})
        codes = [CHARACTERS.index(character) for character in "830"]
        relation = lstm(torch.stack([model.relation.weight[3], *model.character.weight[codes]]))[0][-1]
        expected = (model.entity.weight[2] * relation * model.entity.weight).sum(dim=1)
    torch.testing.assert_close(scores, expected)
    assert torch.equal(scores, next_day)  # training has no fact at time 2, so it is read as time 1
