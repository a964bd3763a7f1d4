from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from models.cases import ModelCase
from models.test_re_gcn import GRAPH, HISTORY, evolved_by_hand
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge
from titer.models.tirgn.config import TiRGNConfig
from titer.models.tirgn.model import LOCAL, UNIFORM, TimeVectors, TiRGN


class TestTiRGN(ModelCase):
    name = "tirgn"
    settings: ClassVar = {"dim": 16, "steps": 2, "layers": 1, "channels": 4, "dropout": 0.1}
    training: ClassVar = {
        "epochs": 3,
        "batch_size": 1000,
        "learning_rate": 0.03,
        "learning_rate_schedule": "triangle",
        "recent_steps": 60,
        "validate_every": 3,
    }
    least_mrr = 0.8
    explains_by_other_relations = False
    shares_sum_to_one = True


def make(graph: Graph = GRAPH, **settings: Any) -> TiRGN:
    torch.manual_seed(0)
    model = TiRGN(graph.vocabulary, TimeAxis(), TiRGNConfig(**{"dim": 4, "channels": 3, "steps": 2, **settings})).eval()
    model.prepare(graph.facts, Facts.empty())
    return model


def time_vectors(model: TiRGN, time: int, times: list[int]) -> list[Tensor]:
    """Oracle: the trend and the periodic vector of a time step, each as a batch of one."""
    first, last = min(times, default=0), max(times, default=0)
    share = min(max(time - first, 0), last - first) / max(last - first, 1)
    weight, bias = model.time_vectors.weight, model.time_vectors.bias
    return [(weight[0] * share + bias[0])[None], (weight[1] * (time - first) + bias[1]).sin()[None]]


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME + 2), seed=st.integers(0, 9), weight=st.floats(0.1, 0.9))
def test_the_probability_is_the_formula(graph: Graph, time: int, seed: int, weight: float):
    model = make(graph, history_weight=weight)
    vocabulary = graph.vocabulary
    subject, relation = seed % vocabulary.num_entities, seed % vocabulary.num_directed_relations
    edges = directed_edges(graph.facts, vocabulary)
    past = {o for s, r, o, t in edges if (s, r) == (subject, relation) and t < time}
    times = graph.facts.time.tolist()
    with torch.inference_mode():
        found = model.score(Queries.one(subject, relation, time), History(graph.facts, vocabulary))[0].exp()
        assert isinstance(model.entity, Tensor)
        through = sorted({t for t in times if t < time})[-2:]
        h, r = evolved_by_hand(model, graph, model.entity, through)
        inputs = h[subject].tanh()[None], r[relation][None], *time_vectors(model, time, times)
        local_query, global_query = (
            decoder(*inputs)[0] for decoder in (model.entity_decoder, model.global_entity_decoder)
        )
        entities = range(vocabulary.num_entities)
        local = torch.stack([local_query @ h[o].tanh() for o in entities]).softmax(dim=0)
        bias = model.past_bias
        scores = [global_query @ h[o].tanh() + bias if o in past else torch.zeros(()) for o in entities]
        expected = weight * torch.stack(scores).softmax(dim=0) + (1 - weight) * local
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_the_loss_is_that_of_both_mixtures():
    model = make(dropout=0.0, history_weight=0.4, entity_weight=0.6)
    # The decoders keep their statistics, so that scores of single queries can be compared with those of a batch.
    model.training = True
    facts = [(0, 0, 1, 2), (0, 1, 2, 5)]  # of both, an earlier fact has the same pair, and the relation too
    queries = Queries(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([2, 5]))
    edges = directed_edges(GRAPH.facts, GRAPH.vocabulary)
    with torch.no_grad():
        found = model.training_step(queries, torch.tensor([1, 2]), HISTORY)
        entity_loss, relation_loss = torch.zeros(2).unbind()
        for s, r, o, t in facts:
            entity_loss = entity_loss - model.score(Queries.one(s, r, t), HISTORY)[0, o]
            assert isinstance(model.entity, Tensor)
            entity, relation = evolved_by_hand(model, GRAPH, model.entity, [time for time in (1, 2) if time < t])
            inputs = entity[s].tanh()[None], entity[o].tanh()[None], *time_vectors(model, t, [1, 6])
            rows = torch.stack([relation[q] for q in range(4)])
            past = torch.tensor([float(any((s, q, o) == e[:3] and e[3] < t for e in edges)) for q in range(4)])
            assert 1 <= float(past.sum()) < 4
            local = (rows @ model.relation_decoder(*inputs)[0]).softmax(dim=0)
            whole = (past * (rows @ model.global_relation_decoder(*inputs)[0])).softmax(dim=0)
            relation_loss = relation_loss - (0.4 * whole + 0.6 * local)[r].log()
    torch.testing.assert_close(found.log["entity_loss"], entity_loss / 2)
    torch.testing.assert_close(found.log["relation_loss"], relation_loss / 2)
    torch.testing.assert_close(found.loss, 0.6 * entity_loss / 2 + 0.4 * relation_loss / 2)


def test_the_trend_ends_with_training_and_the_periodic_vector_does_not():
    torch.manual_seed(0)
    vectors = TimeVectors(4)
    vectors.span.copy_(torch.tensor([10, 20]))
    with torch.inference_mode():
        before, start, middle, end, after = (vectors(time) for time in (5, 10, 15, 20, 30))
    torch.testing.assert_close(before[0], start[0])
    torch.testing.assert_close(middle[0], (start[0] + end[0]) / 2)
    torch.testing.assert_close(after[0], end[0])
    assert not torch.allclose(start[0], end[0])
    torch.testing.assert_close(after[1], torch.sin(20 * vectors.weight[1] + vectors.bias[1]).detach())


def test_evidence_is_the_past_facts_of_the_global_mode_and_a_note_for_the_local_share():
    facts = Facts.from_rows([(0, 0, 1, 2), (0, 0, 1, 5), (0, 0, 1, 5), (0, 0, 2, 3), (0, 1, 1, 4), (0, 0, 1, 7)])
    graph = Graph(facts, Vocabulary.numbered(4, 2))
    model, history, query = make(graph), History(facts, graph.vocabulary), Queries.one(0, 0, 6)
    with torch.inference_mode():
        found, never = (model.explain(query, answer, history) for answer in (1, 3))
        modes = torch.stack([mode[0] for mode in model._modes(query, 6, model.evolved(6, history), history)]).exp()
    local, whole = (modes / modes.sum(dim=0)).tolist()
    shares = {item.path or item.note: item.share for item in found}
    expected = {(Edge(0, 0, 1, 5),): whole[1] / 2, (Edge(0, 0, 1, 2),): whole[1] / 2, LOCAL: local[1]}
    assert shares == pytest.approx(expected)
    assert {item.note: item.share for item in never} == pytest.approx({LOCAL: local[3], UNIFORM: whole[3]})
