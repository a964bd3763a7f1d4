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
from titer.errors import ConfigError
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
"""For nothing to be left out."""

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


def everyone(graph: Graph, time: int) -> Queries:
    """A question about every entity."""
    entities = torch.arange(graph.vocabulary.num_entities)
    return Queries(entities, entities % graph.vocabulary.num_directed_relations, torch.full_like(entities, time))


@given(graph=graphs(), time=TIMES)
def test_no_attention_is_lost_where_nothing_is_pruned(graph: Graph, time: int):
    model = make(graph.vocabulary, **ENOUGH)
    with torch.inference_mode():
        scores = model.score(everyone(graph, time), History(graph.facts, graph.vocabulary))
    torch.testing.assert_close(scores.exp().sum(dim=1), torch.ones(len(scores)))


@given(graph=graphs(), time=TIMES, kept=st.integers(1, 5))
def test_a_question_keeps_the_edges_with_most_attention(graph: Graph, time: int, kept: int):
    history, queries = History(graph.facts, graph.vocabulary), everyone(graph, time)
    with torch.inference_mode():
        first, _ = make(graph.vocabulary, **{**ENOUGH, "kept_edges": kept})._grow(queries, history)
        whole, _ = make(graph.vocabulary, **ENOUGH)._grow(queries, history)
    for question in range(len(queries)):
        of_all = whole.flow[whole.target.question == question].sort(descending=True).values
        torch.testing.assert_close(first.flow[first.target.question == question], of_all[:kept])


@given(graph=graphs(), time=TIMES)
def test_a_subgraph_is_no_larger_than_its_settings_allow(graph: Graph, time: int):
    queries = everyone(graph, time)
    with torch.inference_mode():
        steps = make(graph.vocabulary, num_edges=(3, 2, 4), kept_edges=5)._grow(
            queries, History(graph.facts, graph.vocabulary)
        )
    for step, most in zip(steps, (5, 5, 5 * (4 + 1)), strict=True):
        assert int(torch.bincount(step.target.question).max()) <= most


@given(graph=graphs(), time=TIMES, strictly_back=st.booleans())
def test_every_step_goes_back_in_time(graph: Graph, time: int, strictly_back: bool):
    model = make(graph.vocabulary, strictly_back=strictly_back)
    history = History(graph.facts, graph.vocabulary)
    with torch.inference_mode():
        for answer in range(graph.vocabulary.num_entities):
            for item in model.explain(Queries.one(0, 0, time), answer, history, 10_000):
                times = [edge.time for edge in item.path]
                assert all(t < time for t in times)
                assert all(b < a if strictly_back else b <= a for a, b in pairwise(times))


def test_steps_that_need_not_go_back_in_time_find_what_happened_on_one_day():
    vocabulary = Vocabulary.numbered(3, 1)
    history = History(Facts.from_rows([(0, 0, 1, 1), (1, 0, 2, 1)]), vocabulary)
    query = Queries.one(0, 0, 2)
    with torch.inference_mode():
        assert float(make(vocabulary, strictly_back=True).score(query, history)[0, 2]) == -torch.inf
        (found,) = make(vocabulary, strictly_back=False).explain(query, 2, history)
    assert found.path == (Edge(0, 0, 1, 1), Edge(1, 0, 2, 1))


@given(graph=graphs(), time=TIMES)
def test_a_share_is_the_attention_along_a_path_over_that_of_the_answer(graph: Graph, time: int):
    model = make(graph.vocabulary, num_edges=(100,))
    history, query = History(graph.facts, graph.vocabulary), Queries.one(0, 0, time)
    with torch.inference_mode():
        (step,) = model._grow(query, history)
        scores = model.score(query, history)[0]
        for answer in scores.isfinite().nonzero()[:, 0].tolist():
            for item in model.explain(query, answer, history, 10_000):
                here = step.target.entity == answer
                if item.path:
                    (edge,) = item.path
                    here &= (step.relation == edge.relation) & (step.target.time == edge.time)
                else:
                    here &= step.relation == graph.vocabulary.self_loop
                assert item.share == pytest.approx(float(step.flow[here].sum() / scores[answer].exp()), rel=1e-4)


def test_nodes_are_told_apart_by_question_entity_and_time():
    nodes = Nodes(*torch.tensor([[0, 0, 0, 1, 0], [5, 5, 2, 5, 5], [-3, 4, 4, 4, -3]]))
    found, place = nodes.distinct()
    assert len(found.entity) == 4
    assert place[0] == place[4]
    for column, again in zip(nodes, found.at(place), strict=True):
        assert torch.equal(column, again)


@given(graph=graphs(), time=TIMES)
def test_attention_is_the_product_of_the_two_ends_of_an_edge_as_the_question_sees_them(graph: Graph, time: int):
    model, history, queries = make(graph.vocabulary), History(graph.facts, graph.vocabulary), everyone(graph, time)
    layer = model.attentions[0]
    assert isinstance(layer, Attention)
    nodes, known = Nodes.asked(queries), model._embeddings(queries, history)
    edges = prior_edges(history, nodes, queries.time, 100, strictly_back=True)
    with torch.inference_mode():
        hidden = torch.randn(len(queries), model.config.node_dim)  # as if the nodes had heard something already
        question = torch.randn(len(queries), 2 * model.config.node_dim)
        found = layer(nodes, edges, hidden, question, known)
        target = torch.cat([known.of(edges.without_loops), hidden])
        common = [known.relation[edges.relation], question[edges.target.question]]
        subject = layer.W_sub(torch.cat([hidden[edges.source], *common], dim=1))
        object = layer.W_obj(torch.cat([target, *common], dim=1))
        score = (subject * object).sum(dim=1) / model.config.attention_dim**0.5
        for v in range(len(queries)):
            torch.testing.assert_close(found[edges.source == v], score[edges.source == v].softmax(dim=0))


def test_news_travels_back_to_the_question_in_one_update():
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


def test_what_lies_two_steps_back_moves_the_attention_of_the_third():
    vocabulary = Vocabulary.numbered(6, 1)
    facts = Facts.from_rows([(0, 0, 1, 3), (1, 0, 2, 2), (2, 0, 3, 1), (2, 0, 4, 1)])
    history, query = History(facts, vocabulary), Queries.one(0, 0, 4)
    model = make(vocabulary, strictly_back=True)

    def odds() -> float:
        with torch.inference_mode():
            scores = model.score(query, history)[0]
        return float(scores[3] - scores[4])

    before = odds()
    with torch.no_grad():
        model.entity[1] += 30  # only the question's node hears of it before the third step, which starts from 2
    assert abs(odds() - before) > 1e-4


@pytest.mark.parametrize("longest", [30, 366, 20_000])
def test_a_time_encoding_tells_every_step_of_a_time_axis_from_the_next_and_from_late_ones(longest: int):
    with torch.inference_mode():
        encoding = TimeEncoding(32)(torch.arange(longest))
        late = torch.cdist(encoding[:30], encoding).fill_diagonal_(1)
    assert float((encoding[1:] - encoding[:-1]).norm(dim=1).min()) > 0.1
    assert float(late.min()) > 0.4


@pytest.mark.parametrize("ago", [1, 10_000_000])
def test_a_question_costs_the_same_however_long_ago_the_past_is(ago: int):
    vocabulary = Vocabulary.numbered(4, 1)
    facts = [(0, 0, 1, 0), (0, 0, 2, ago), (1, 0, 3, 3 * ago)]
    model, history = make(vocabulary), History(Facts.from_rows(facts), vocabulary)
    with torch.inference_mode(), Built() as built:
        model.score(Queries.one(0, 0, 7 * ago), history)
    assert max(built.sizes) < 2000


def test_facts_are_told_apart_however_long_ago_they_are():
    vocabulary = Vocabulary.numbered(3, 1)
    history = History(Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 90_000)]), vocabulary)
    with torch.inference_mode():
        (step,) = make(vocabulary, num_edges=(2,))._grow(Queries.one(0, 0, 200_000), history)
    assert abs(float(step.alpha[0] - step.alpha[1])) > 1e-6


def test_every_weight_has_a_part_in_the_loss():
    vocabulary = Vocabulary.numbered(4, 1)
    history = History(Facts.from_rows([(0, 0, 1, 1), (1, 0, 2, 2), (0, 0, 1, 3), (2, 0, 3, 1)]), vocabulary)
    model = make(vocabulary)
    model.training_step(Queries.one(0, 0, 4), torch.tensor([1]), history).loss.backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_other_true_answers_of_the_moment_do_not_count_against_an_answer():
    vocabulary = Vocabulary.numbered(4, 1)
    both = Facts.from_rows([(0, 0, 1, 1), (0, 0, 2, 1), (0, 0, 3, 1), (0, 0, 1, 2), (0, 0, 2, 2)])
    model, history, query = make(vocabulary), History(both, vocabulary), Queries.one(0, 0, 2)
    model.prepare(both, Facts.empty())
    alone = float(model.training_step(query, torch.tensor([1]), history).loss.detach())
    with torch.inference_mode():
        attention = model.score(query, history)[0].exp()
    assert alone == pytest.approx(-float(torch.log(attention[1] / (attention.sum() - attention[2]))), rel=1e-4)


def test_from_an_answer_that_is_not_reached_nothing_is_learned():
    vocabulary = Vocabulary.numbered(4, 1)
    model, history = make(vocabulary), History(Facts.from_rows([(0, 0, 1, 1), (0, 0, 2, 1)]), vocabulary)
    result = model.training_step(Queries.one(0, 0, 2), torch.tensor([3]), history)
    result.loss.backward()
    assert float(result.loss.detach()) == 0
    assert float(result.log["reached"]) == 0
    assert all(bool((p.grad == 0).all()) for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize(
    "settings", [{"num_edges": ()}, {"num_edges": (5, 0)}, {"kept_edges": 0}, {"gamma": 1.5}, {"dropout": 1.0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        XERTEConfig(**settings)
