from typing import ClassVar

import torch

from models.cases import ModelCase
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingConfig
from titer.models.ta_distmult import SIGNS, TADistMult, signs_of_dates


class TestTADistMult(ModelCase):
    name = "ta_distmult"
    settings: ClassVar = {"dim": 16, "dropout": 0.0}
    training: ClassVar = {"epochs": 3, "batch_size": 64, "learning_rate": 0.02}
    least_mrr = 0.7
    explains = False


def written(labels: list[str]) -> list[str]:
    return ["".join(SIGNS[sign] for sign in row) for row in signs_of_dates(labels).tolist()]


def test_a_date_is_read_sign_by_sign_where_dates_differ():
    assert written(["2014-08-30", "2014-08-31", "2014-09-01"]) == ["830", "831", "901"]
    assert written(["9", "10", "11"]) == ["09", "10", "11"]
    assert written(["-1", "0", "1"]) == ["-1", "00", "01"]
    assert written(["2014"]) == [""]


def test_the_score_is_the_product_with_what_was_read():
    vocabulary = Vocabulary.numbered(5, 2)
    axis = TimeAxis(TimeUnit.DAY, "2014-08-29")
    train = Facts.from_rows([(0, 0, 1, 0), (2, 1, 3, 1), (4, 1, 3, 3)])
    model = TADistMult(vocabulary, axis, EmbeddingConfig(dim=4)).eval()
    model.prepare(train, Facts.empty())
    with torch.inference_mode():
        scores, a_day_later = (model.score(Queries.one(2, 3, t), History(train, vocabulary))[0] for t in (1, 2))
        whole = torch.nn.LSTM(4, 4)
        whole.load_state_dict({f"{name}_l0": weight for name, weight in model.reader.state_dict().items()})
        signs = [SIGNS.index(sign) for sign in "830"]
        relation = whole(torch.stack([model.relation.weight[3], *model.sign.weight[signs]]))[0][-1]
        expected = (model.entity.weight[2] * relation * model.entity.weight).sum(dim=1)
    torch.testing.assert_close(scores, expected)
    assert torch.equal(scores, a_day_later)  # on which training has seen nothing
