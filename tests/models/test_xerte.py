from itertools import pairwise
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from built import Built
from models.cases import ModelCase
from strategies import LAST_TIME, Graph, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge
from titer.models.xerte.attention import Attention, TimeEncoding
from titer.models.xerte.config import XERTEConfig
from titer.models.xerte.model import XERTE
from titer.models.xerte.sampling import Nodes, prior_edges
from titer.models.xerte.update import Link, Update

SMALL: dict[str, Any] = {"num_edges": (16, 8, 8), "kept_edges": 16, "entity_dim": 12, "time_dim": 4, "attention_dim": 8}
ENOUGH = {"num_edges": (100, 100), "kept_edges": 10_000}
"""Limits so large that no edge is left out."""

TIMES = st.integers(-2, LAST_TIME)


class TestXERTE(ModelCase):
    name = "xerte"
    settings: ClassVar = SMALL
    training: ClassVar = {"epochs": 1, "batch_size": 64, "learning_rate": 0.01, "learning_rate_schedule": "triangle"}
    least_mrr = 0.7
    shares_sum_to_one = True


def make(vocabulary: Vocabulary, **settings: Any) -> XERTE:
    torch.manual_seed(0)
    return XERTE(vocabulary, TimeAxis(), XERTEConfig(**{**SMALL, "dropout": 0.0, **settings})).eval()


def query_each_entity(graph: Graph, time: int) -> Queries:
    """Return one query for each entity."""
    entities = torch.arange(graph.vocabulary.num_entities)
    return Queries(entities, entities % graph.vocabulary.num_directed_relations, torch.full_like(entities, time))


@pytest.mark.slow
@given(graph=graphs(), time=TIMES)
def test_attention_sums_to_one_without_pruning(graph: Graph, time: int):
    model = make(graph.vocabulary, **ENOUGH)
    with torch.inference_mode():
        scores = model.score(query_each_entity(graph, time), History(graph.facts, graph.vocabulary))
    torch.testing.assert_close(scores.exp().sum(dim=1), torch.ones(len(scores)))


@pytest.mark.slow
@given(graph=graphs(), time=TIMES, kept=st.integers(1, 5))
def test_each_query_keeps_the_edges_with_the_most_attention(graph: Graph, time: int, kept: int):
    history, queries = History(graph.facts, graph.vocabulary), query_each_entity(graph, time)
    with torch.inference_mode():
        first, _ = make(graph.vocabulary, **{**ENOUGH, "kept_edges": kept})._expand(queries, history)
        whole, _ = make(graph.vocabulary, **ENOUGH)._expand(queries, history)
    for query in range(len(queries)):
        of_all = whole.flow[whole.target.query == query].sort(descending=True).values
        torch.testing.assert_close(first.flow[first.target.query == query], of_all[:kept])


@pytest.mark.slow
@given(graph=graphs(), time=TIMES)
def test_a_subgraph_is_no_larger_than_its_settings_allow(graph: Graph, time: int):
    queries = query_each_entity(graph, time)
    with torch.inference_mode():
        expansions = make(graph.vocabulary, num_edges=(3, 2, 4), kept_edges=5)._expand(
            queries, History(graph.facts, graph.vocabulary)
        )
    for expansion, max_edges in zip(expansions, (5, 5, 5 * (4 + 1)), strict=True):
        assert int(torch.bincount(expansion.target.query).max()) <= max_edges


@pytest.mark.slow
@given(graph=graphs(), time=TIMES, strictly_back=st.booleans())
def test_every_hop_goes_back_in_time(graph: Graph, time: int, strictly_back: bool):
    model = make(graph.vocabulary, strictly_back=strictly_back)
    history = History(graph.facts, graph.vocabulary)
    with torch.inference_mode():
        for answer in range(graph.vocabulary.num_entities):
            for item in model.explain(Queries.one(0, 0, time), answer, history, 10_000):
                times = [edge.time for edge in item.path]
                assert all(t < time for t in times)
                assert all(b < a if strictly_back else b <= a for a, b in pairwise(times))


def test_paths_within_one_time_step_are_found_unless_strictly_back():
    vocabulary = Vocabulary.numbered(3, 1)
    history = History(Facts.from_rows([(0, 0, 1, 1), (1, 0, 2, 1)]), vocabulary)
    query = Queries.one(0, 0, 2)
    with torch.inference_mode():
        assert float(make(vocabulary, strictly_back=True).score(query, history)[0, 2]) == -torch.inf
        (found,) = make(vocabulary, strictly_back=False).explain(query, 2, history)
    assert found.path == (Edge(0, 0, 1, 1), Edge(1, 0, 2, 1))


@pytest.mark.slow
@given(graph=graphs(), time=TIMES)
def test_a_share_is_the_attention_of_a_path_over_that_of_the_answer(graph: Graph, time: int):
    model = make(graph.vocabulary, num_edges=(100,))
    history, query = History(graph.facts, graph.vocabulary), Queries.one(0, 0, time)
    with torch.inference_mode():
        (expansion,) = model._expand(query, history)
        scores = model.score(query, history)[0]
        for answer in scores.isfinite().nonzero()[:, 0].tolist():
            for item in model.explain(query, answer, history, 10_000):
                edges = expansion.target.entity == answer
                if item.path:
                    (edge,) = item.path
                    edges &= (expansion.relation == edge.relation) & (expansion.target.time == edge.time)
                else:
                    edges &= expansion.relation == graph.vocabulary.self_loop
                assert item.share == pytest.approx(float(expansion.flow[edges].sum() / scores[answer].exp()), rel=1e-4)


def test_nodes_are_distinguished_by_query_entity_and_time():
    nodes = Nodes(*torch.tensor([[0, 0, 0, 1, 0], [5, 5, 2, 5, 5], [-3, 4, 4, 4, -3]]))
    found, place = nodes.distinct()
    assert len(found.entity) == 4
    assert place[0] == place[4]
    for column, again in zip(nodes, found.at(place), strict=True):
        assert torch.equal(column, again)


@pytest.mark.slow
@given(graph=graphs(), time=TIMES)
def test_attention_is_the_formula(graph: Graph, time: int):
    model, history, queries = (
        make(graph.vocabulary),
        History(graph.facts, graph.vocabulary),
        query_each_entity(graph, time),
    )
    layer = model.attentions[0]
    assert isinstance(layer, Attention)
    nodes, context = Nodes.of_queries(queries), model._context(queries, history)
    edges = prior_edges(history, nodes, queries.time, 100, strictly_back=True)
    with torch.inference_mode():
        hidden = torch.randn(len(queries), model.config.node_dim)  # as after an update
        query = torch.randn(len(queries), 2 * model.config.node_dim)
        found = layer(nodes, edges, hidden, query, context)
        target = torch.cat([context.embed(edges.without_loops), hidden])
        common = [context.relation[edges.relation], query[edges.target.query]]
        subject = layer.W_sub(torch.cat([hidden[edges.source], *common], dim=1))
        object = layer.W_obj(torch.cat([target, *common], dim=1))
        score = (subject * object).sum(dim=1) / model.config.attention_dim**0.5
        for v in range(len(queries)):
            torch.testing.assert_close(found[edges.source == v], score[edges.source == v].softmax(dim=0))


def test_one_update_reaches_the_node_of_the_query():
    layer = Update(XERTEConfig(**{**SMALL, "gamma": 0.25}))
    first, second, third = torch.randn(3, 1, 16).unbind(0)
    links = [Link(torch.tensor([0]), torch.tensor([0]), torch.tensor([share])) for share in (0.5, 0.75)]

    def update(own: torch.Tensor) -> torch.Tensor:
        return functional.leaky_relu(layer.W_h(own))

    with torch.inference_mode():
        found = layer([first, second, third], links)
        last = update(third)
        middle = update(0.25 * second + 0.75 * (0.75 * last))
        expected = [update(0.25 * first + 0.75 * (0.5 * middle)), middle, last]
    torch.testing.assert_close(found, expected)


def test_the_representation_of_the_query_changes_the_third_expansion():
    vocabulary = Vocabulary.numbered(6, 1)
    facts = Facts.from_rows([(0, 0, 1, 3), (1, 0, 2, 2), (2, 0, 3, 1), (2, 0, 4, 1)])
    history, query = History(facts, vocabulary), Queries.one(0, 0, 4)
    model = make(vocabulary, strictly_back=True)

    def log_odds() -> float:
        with torch.inference_mode():
            scores = model.score(query, history)[0]
        return float(scores[3] - scores[4])

    before = log_odds()
    with torch.no_grad():
        model.entity[1] += 30  # reaches the third expansion, which starts from 2, only through the query's node
    assert abs(log_odds() - before) > 1e-4


@pytest.mark.parametrize("longest", [30, 366, 20_000])
def test_the_time_encoding_separates_neighbouring_and_distant_time_steps(longest: int):
    with torch.inference_mode():
        encoding = TimeEncoding(32)(torch.arange(longest))
        distant = torch.cdist(encoding[:30], encoding).fill_diagonal_(1)
    assert float((encoding[1:] - encoding[:-1]).norm(dim=1).min()) > 0.1
    assert float(distant.min()) > 0.4


@pytest.mark.parametrize("ago", [1, 10_000_000])
def test_memory_does_not_depend_on_the_age_of_the_facts(ago: int):
    vocabulary = Vocabulary.numbered(4, 1)
    facts = [(0, 0, 1, 0), (0, 0, 2, ago), (1, 0, 3, 3 * ago)]
    model, history = make(vocabulary), History(Facts.from_rows(facts), vocabulary)
    with torch.inference_mode(), Built() as built:
        model.score(Queries.one(0, 0, 7 * ago), history)
    assert max(built.sizes) < 2000


def test_old_facts_of_different_age_have_different_attention():
    vocabulary = Vocabulary.numbered(3, 1)
    history = History(Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 90_000)]), vocabulary)
    with torch.inference_mode():
        (expansion,) = make(vocabulary, num_edges=(2,))._expand(Queries.one(0, 0, 200_000), history)
    assert abs(float(expansion.alpha[0] - expansion.alpha[1])) > 1e-6


def test_every_parameter_has_a_gradient():
    vocabulary = Vocabulary.numbered(4, 1)
    history = History(Facts.from_rows([(0, 0, 1, 1), (1, 0, 2, 2), (0, 0, 1, 3), (2, 0, 3, 1)]), vocabulary)
    model = make(vocabulary)
    model.training_step(Queries.one(0, 0, 4), torch.tensor([1]), history).loss.backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_other_true_answers_at_the_same_time_are_excluded_from_the_loss():
    vocabulary = Vocabulary.numbered(4, 1)
    both = Facts.from_rows([(0, 0, 1, 1), (0, 0, 2, 1), (0, 0, 3, 1), (0, 0, 1, 2), (0, 0, 2, 2)])
    model, history, query = make(vocabulary), History(both, vocabulary), Queries.one(0, 0, 2)
    model.prepare(both, Facts.empty())
    alone = float(model.training_step(query, torch.tensor([1]), history).loss.detach())
    with torch.inference_mode():
        attention = model.score(query, history)[0].exp()
    assert alone == pytest.approx(-float(torch.log(attention[1] / (attention.sum() - attention[2]))), rel=1e-4)


def test_an_unreached_answer_has_no_gradient():
    vocabulary = Vocabulary.numbered(4, 1)
    model, history = make(vocabulary), History(Facts.from_rows([(0, 0, 1, 1), (0, 0, 2, 1)]), vocabulary)
    result = model.training_step(Queries.one(0, 0, 2), torch.tensor([3]), history)
    result.loss.backward()
    assert float(result.loss.detach()) == 0
    assert float(result.log["reached"]) == 0
    assert all(bool((p.grad == 0).all()) for p in model.parameters() if p.grad is not None)
