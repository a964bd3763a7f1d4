import math
from typing import ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from built import Built
from models.cases import ModelCase
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.de_simple import DESimplE, DESimplEConfig

VOCABULARY = Vocabulary.numbered(5, 2)
TRAIN = Facts.from_rows([(0, 0, 1, 4), (2, 1, 3, 5), (4, 1, 3, 6)])


class TestDESimplE(ModelCase):
    name = "de_simple"
    settings: ClassVar = {"dim": 16, "dropout": 0.0}
    training: ClassVar = {"epochs": 3, "batch_size": 64, "learning_rate": 0.02}
    least_mrr = 0.8
    explains = False


def de_simple(**settings) -> DESimplE:
    torch.manual_seed(0)
    model = DESimplE(VOCABULARY, TimeAxis(), DESimplEConfig(dim=4, time_scale=10.0, **settings)).eval()
    model.prepare(TRAIN, Facts.empty())
    return model


@pytest.mark.slow
@given(time=st.integers(-20, 20), relation=st.integers(0, 3))
def test_the_score_is_the_formula_at_any_time(time: int, relation: int):
    model = de_simple()

    def z(entity: int, side: int) -> list[float]:
        a, w, b = (p[entity, side].tolist() for p in (model.amplitude, model.frequency, model.phase))
        t = (time - 6) / 10
        return [a[n] * math.sin(w[n] * t + b[n]) if n < 2 else a[n] for n in range(4)]

    def product(*factors: list[float]) -> float:
        return sum(math.prod(values) for values in zip(*factors, strict=True))

    v, inverse = model.relation.weight[relation].tolist(), model.relation.weight[(relation + 2) % 4].tolist()
    with torch.no_grad():
        scores = model.score(Queries.one(2, relation, time), History(TRAIN, VOCABULARY))[0]
    for o in range(5):
        expected = (product(z(2, 0), v, z(o, 1)) + product(z(o, 0), inverse, z(2, 1))) / 2
        assert float(scores[o]) == pytest.approx(expected, abs=1e-5)


def test_both_queries_of_a_fact_give_it_the_same_score():
    model, history = de_simple(), History(TRAIN, VOCABULARY)
    with torch.no_grad():
        as_object = model.score(Queries.one(0, 1, 5), history)[0, 3]
        as_subject = model.score(Queries.one(3, VOCABULARY.inverse(1), 5), history)[0, 0]
    assert float(as_object) == pytest.approx(float(as_subject), rel=1e-4)


def test_a_batch_may_have_queries_of_several_time_steps():
    model, history = de_simple(), History(TRAIN, VOCABULARY)
    queries, answers = Queries.from_facts(TRAIN, VOCABULARY)
    together = model.training_step(queries, answers, history).loss
    each = [model.training_step(queries[i : i + 1], answers[i : i + 1], history).loss for i in range(len(queries))]
    torch.testing.assert_close(together, torch.stack(each).mean())
    together.backward()
    assert float(model.frequency.grad.abs().sum()) > 0  # pyright: ignore[reportOptionalMemberAccess]


def test_scores_are_not_copied_once_per_time_step():
    model, history, time = de_simple(), History(TRAIN, VOCABULARY), torch.arange(40)
    queries = Queries(torch.zeros_like(time), torch.zeros_like(time), time)
    with Built() as built:
        scores = model.plausibility(queries, history)
    assert sum(size >= scores.nbytes for size in built.sizes) <= 2


def test_no_queries_give_no_scores():
    assert de_simple().score(Queries.one(0, 0, 5)[:0], History(TRAIN, VOCABULARY)).shape == (0, 5)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_scores_change_over_time_unless_no_feature_is_temporal(share: float):
    model, history = de_simple(temporal_share=share), History(TRAIN, VOCABULARY)
    with torch.no_grad():
        early, late = (model.score(Queries.one(0, 0, time), history) for time in (5, 50))
    assert torch.equal(early, late) == (share == 0)
