from typing import ClassVar

import pytest
import torch

from models.cases import ModelCase
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.tntcomplex import TNTComplEx, TNTComplExConfig

VOCABULARY = Vocabulary.numbered(5, 2)
TRAIN = Facts.from_rows([(0, 0, 1, 4), (2, 1, 3, 5), (4, 1, 3, 6)])


class TestTNTComplEx(ModelCase):
    name = "tntcomplex"
    settings: ClassVar = {"dim": 8, "num_periods": 10, "dropout": 0.0}
    training: ClassVar = {"epochs": 3, "batch_size": 64, "learning_rate": 0.02}
    least_mrr = 0.8
    explains = False


def tntcomplex(**settings) -> TNTComplEx:
    torch.manual_seed(0)
    model = TNTComplEx(VOCABULARY, TimeAxis(), TNTComplExConfig(dim=4, num_periods=3, **settings)).eval()
    model.prepare(TRAIN, Facts.empty())
    return model


def as_complex(row: torch.Tensor) -> torch.Tensor:
    return torch.complex(*row.chunk(2, dim=-1))


def test_the_score_is_the_real_part_of_the_complex_product():
    model = tntcomplex()
    with torch.inference_mode():
        scores = model.score(Queries.one(2, 3, 5), History(TRAIN, VOCABULARY))[0]
        u, v, v_t, w = (
            as_complex(table.weight)
            for table in (model.entity, model.static_relation, model.temporal_relation, model.period)
        )
        expected = torch.stack([(u[2] * (v_t[3] * w[1] + v[3]) * o.conj()).sum().real for o in u])
    torch.testing.assert_close(scores, expected)


def test_the_penalty_is_n3_plus_the_change_between_periods():
    model = tntcomplex(embedding_penalty=0.5, smoothness_penalty=0.25)
    with torch.inference_mode():
        found = model.penalty(Queries.one(2, 1, 5), torch.tensor([3]))
        u, v, v_t, w = (
            as_complex(table.weight)
            for table in (model.entity, model.static_relation, model.temporal_relation, model.period)
        )
        cubes = sum(factor.abs().pow(3).sum() for factor in (u[2], v_t[1] * w[1], v[1], u[3]))
        change = sum((w[i + 1] - w[i]).abs().pow(3).sum() for i in range(2)) / 2
    assert float(found) == pytest.approx(float(0.5 * cubes + 0.25 * change), rel=1e-4)


def test_the_gradient_of_the_penalty_is_finite_at_zero():
    model = tntcomplex()
    torch.nn.init.zeros_(model.period.weight)
    torch.as_tensor(model.penalty(Queries.one(2, 1, 5), torch.tensor([3]))).backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)
