import math
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from models.cases import ModelCase
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.cygnet import GENERATED, CyGNet, CyGNetConfig
from titer.models.evidence import Edge


class TestCyGNet(ModelCase):
    name = "cygnet"
    settings: ClassVar[dict[str, Any]] = {"dim": 16}
    training: ClassVar = {"epochs": 3, "batch_size": 64, "learning_rate": 0.01}
    least_mrr = 0.6
    explains_by_other_relations = False
    shares_sum_to_one = True


def cygnet(graph: Graph, **settings) -> CyGNet:
    torch.manual_seed(0)
    model = CyGNet(graph.vocabulary, TimeAxis(), CyGNetConfig(dim=4, **settings)).eval()
    model.prepare(graph.facts, Facts.empty())
    return model


@pytest.mark.slow
@given(graph=graphs(), time=st.integers(-2, LAST_TIME + 2), seed=st.integers(0, 9), weight=st.floats(0.1, 0.9))
def test_the_probability_is_the_formula(graph: Graph, time: int, seed: int, weight: float):
    model = cygnet(graph, copy_weight=weight, copy_range=2.0)
    subject, relation = seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations
    edges = directed_edges(graph.facts, graph.vocabulary)
    past = sorted({o for s, r, o, t in edges if (s, r) == (subject, relation) and t < time})
    with torch.inference_mode():
        found = model.score(Queries.one(subject, relation, time), History(graph.facts, graph.vocabulary))[0].exp()
        times = graph.facts.time.tolist() or [0]
        share = (min(max(time, min(times)), max(times)) - min(times) + 1) / (max(times) - min(times) + 1)
        parts = model.entity.weight[subject], model.relation.weight[relation], share * model.unit_step[0]
        query = torch.cat(parts)
        generated = model.generate(query).softmax(dim=0)
        copied = torch.zeros(len(found))
        copied[past] = (2 * model.copy(query).tanh())[past].softmax(dim=0)
    expected = weight * copied + (1 - weight) * generated if past else generated
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


def test_evidence_is_the_copied_facts_and_a_note_for_the_generated_share():
    facts = Facts.from_rows([(0, 0, 1, 2), (0, 0, 1, 5), (0, 0, 1, 5), (0, 0, 2, 3), (0, 1, 1, 4), (0, 0, 1, 7)])
    graph = Graph(facts, Vocabulary.numbered(4, 2))
    model, history, query = cygnet(graph), History(graph.facts, graph.vocabulary), Queries.one(0, 0, 6)
    with torch.inference_mode():
        found = model.explain(query, 1, history)
        copied, generated = (float(mode[0, 1].exp()) for mode in model._modes(query, history))
        never = model.explain(query, 3, history)
    assert [item.path for item in found] == [(Edge(0, 0, 1, 5),), (Edge(0, 0, 1, 2),), ()]
    shares = [copied / 2, copied / 2, generated]
    assert [item.share for item in found] == pytest.approx([share / (copied + generated) for share in shares])
    assert [(item.path, item.share, item.note) for item in never] == [((), 1.0, GENERATED)]


def test_a_time_step_outside_training_scores_like_the_nearest_one_inside(world_data):
    model = CyGNet(world_data.vocabulary, world_data.axis, CyGNetConfig(dim=4)).eval()
    model.prepare(world_data.train, world_data.valid)
    first, last = int(world_data.train.time.min()), int(world_data.train.time.max())
    empty = History(Facts.empty(), world_data.vocabulary)

    def scores_at(time: int) -> torch.Tensor:
        with torch.inference_mode():
            return model.score(Queries.one(0, 0, time), empty)

    assert torch.equal(scores_at(last + 1000), scores_at(last))
    assert torch.equal(scores_at(first - 1), scores_at(first))
    assert torch.equal(scores_at(first - 1000), scores_at(first))
    assert not torch.equal(scores_at(first + 1), scores_at(first))
    assert not torch.equal(scores_at(last - 1), scores_at(last))


def test_copy_scores_spread_in_proportion_to_copy_range(world_data):
    narrow, wide = (CyGNetConfig(dim=4, copy_range=value) for value in (1.0, 9.0))
    query = Queries.one(0, 0, int(world_data.facts.time.max()))
    history = History(world_data.facts, world_data.vocabulary)
    spans = []
    for config in (narrow, wide):
        torch.manual_seed(0)
        model = CyGNet(world_data.vocabulary, world_data.axis, config).eval()
        with torch.inference_mode():
            copied = model._modes(query, history)[0][0]
            spans.append(float(copied[copied > -50].max() - copied[copied > -50].min()))
    assert spans[0] <= 2
    assert spans[1] == pytest.approx(9 * spans[0], rel=1e-3)


def test_the_output_layers_have_as_many_parameters_as_in_the_paper():
    """The paper counts 8.568 M on ICEWS14: both output layers, without the embeddings."""
    model = CyGNet(Vocabulary.numbered(7128, 230), TimeAxis())
    layers = sum(parameter.numel() for layer in (model.copy, model.generate) for parameter in layer.parameters())
    assert math.isclose(layers, 8.568e6, rel_tol=1e-4)


@pytest.mark.slow
@given(graph=graphs(), end=st.integers(-3, LAST_TIME), time=st.integers(-2, LAST_TIME + 2), seed=st.integers(0, 9))
def test_a_frozen_vocabulary_gives_the_scores_of_a_history_that_ends_with_training(
    graph: Graph, end: int, time: int, seed: int
):
    train = graph.facts.before(end)
    assume(len(train) > 0)  # training refuses an empty split
    model = cygnet(Graph(train, graph.vocabulary), frozen_vocabulary=True)
    query = Queries.one(
        seed % graph.vocabulary.num_entities, seed % graph.vocabulary.num_directed_relations, max(time, end)
    )
    with torch.inference_mode():
        frozen, ended = (model.score(query, History(facts, graph.vocabulary)) for facts in (graph.facts, train))
    torch.testing.assert_close(frozen, ended)


def test_a_frozen_vocabulary_still_grows_within_the_training_split():
    facts = Facts.from_rows([(0, 0, 1, 1), (0, 0, 2, 5), (0, 0, 3, 9)])
    history = History(facts, Vocabulary.numbered(4, 1))
    model = cygnet(Graph(facts.before(6), history.vocabulary), frozen_vocabulary=True)

    def copied(time: int) -> list[int]:
        absence, _ = model._copy_vocabulary(Queries.one(0, 0, time), history)
        return (absence[0] == 0).nonzero()[:, 0].tolist()

    assert [copied(time) for time in (1, 3, 6, 20)] == [[], [1], [1, 2], [1, 2]]
