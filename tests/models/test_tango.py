from typing import Any, ClassVar

import pytest
import torch

from models.cases import ModelCase
from strategies import Graph, directed_edges
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.tango.config import TANGOConfig
from titer.models.tango.model import TANGO, TANGODistMult, TANGOTuckER, TuckER


class TestTANGOTuckER(ModelCase):
    name = "tango_tucker"
    settings: ClassVar = {"dim": 16, "steps": 2, "dropout": 0.1, "solver": "euler"}
    training: ClassVar = {
        "epochs": 3,
        "batch_size": 1000,
        "learning_rate": 0.03,
        "learning_rate_schedule": "triangle",
        "recent_steps": 100,
    }
    least_mrr = 0.8
    explains = False


class TestTANGODistMult(TestTANGOTuckER):
    name = "tango_distmult"
    least_mrr = 0.6


GRAPH = Graph(
    # Facts that continue, begin, end and are repeated, a gap in time, and an entity without facts (4).
    Facts.from_rows([(0, 0, 1, 1), (0, 1, 2, 2), (0, 1, 2, 2), (0, 0, 1, 2), (3, 1, 0, 5), (0, 1, 2, 5), (1, 1, 1, 6)]),
    Vocabulary.numbered(5, 2),
)
HISTORY = History(GRAPH.facts, GRAPH.vocabulary)


def make(cls: type[TANGO] = TANGODistMult, **settings: Any) -> TANGO:
    torch.manual_seed(0)
    return cls(GRAPH.vocabulary, TimeAxis(), TANGOConfig(**{"dim": 3, "solver": "euler", **settings})).eval()


def mean_messages(edges: dict[tuple[int, int, int], int], state: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
    """Oracle: the mean of ±h_u * h_r over the edges of every entity, one edge at a time."""
    messages = [
        [sign * state[o] * relation[r] for (s, r, o), sign in edges.items() if s == v] for v in range(len(state))
    ]
    return torch.stack([torch.stack(h).mean(dim=0) if h else torch.zeros_like(state[0]) for h in messages])


def euler(model: TANGO, steps: list[int]) -> torch.Tensor:
    """Oracle: the solution over some snapshots by the Euler method, without an index."""
    flow, state, jump = model.flow, model.entity, model.config.jump
    edges = directed_edges(GRAPH.facts, GRAPH.vocabulary)
    times = sorted({edge[3] for edge in edges})
    for step in steps:
        now, before = ({e[:3] for e in edges if e[3] == t} for t in (step, times[times.index(step) - 1]))
        before = before if step != times[0] else set()
        layer_state = state
        for layer, rate in zip(flow.layers, flow.rate, strict=True):
            layer_state = (
                layer_state + rate * layer(mean_messages(dict.fromkeys(now, 1), layer_state, model.relation)).tanh()
            )
        changed = dict.fromkeys(now - before, 1) | dict.fromkeys(before - now, -1)
        state = layer_state + jump * flow.transition(mean_messages(changed, state, model.relation)).tanh()
    return state


@pytest.mark.slow
@pytest.mark.parametrize(("time", "through"), [(1, []), (2, [1]), (6, [1, 2, 5]), (7, [2, 5, 6]), (900, [2, 5, 6])])
def test_the_equation_is_solved_over_the_latest_snapshots(time: int, through: list[int]):
    model = make(steps=3, jump=0.7)
    with torch.inference_mode():
        found = model.flow(model.entity, model.relation, HISTORY.snapshots, time)
        torch.testing.assert_close(found, euler(model, through))
        torch.testing.assert_close(found[4], model.entity[4])


@pytest.mark.slow
def test_solvers_of_higher_order_are_more_accurate():
    def solution(solver: str) -> torch.Tensor:
        model = make(steps=1, solver=solver)
        with torch.inference_mode():
            return model.flow(model.entity, model.relation, HISTORY.snapshots, 6)

    exact = solution("rk4")
    assert 0 < torch.dist(solution("midpoint"), exact) < torch.dist(solution("euler"), exact)


def test_the_decoders_are_trilinear_products_of_subject_relation_and_answer():
    query, time = Queries.one(0, 1, 7), 7
    for cls in (TANGODistMult, TANGOTuckER):
        model = make(cls)
        with torch.inference_mode():
            z, r = model.flow(model.entity, model.relation, HISTORY.snapshots, time), model.relation[1]
            core = torch.eye(3)[:, :, None] * torch.eye(3)
            if isinstance(model.decoder, TuckER):
                core = model.decoder.core
            expected = torch.einsum("ijk,i,j,ok->o", core, z[0], r, z)
            torch.testing.assert_close(model.score(query, HISTORY)[0], expected.log_softmax(dim=0))
