"""True answers against a brute-force oracle."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import Graph, directed_edges, graphs
from titer.graph import filters
from titer.graph.filters import Filter, TrueAnswers
from titer.graph.history import History
from titer.graph.popularity import Popularity
from titer.graph.queries import Queries


def all_queries(graph: Graph, time: int) -> Queries:
    entities = range(graph.vocabulary.num_entities)
    relations = range(graph.vocabulary.num_directed_relations)
    rows = torch.tensor([(e, r, time) for e in entities for r in relations])
    return Queries(*rows.unbind(1))


def true_answers(graph: Graph, queries: Queries, kind: Filter, max_keys: int, piece: int) -> list[tuple[int, int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "MAX_KEYS", max_keys)  # with 0, pairs of subject and relation, and keys, are numbered
        patch.setattr(filters, "PIECE", piece)
        row, answer = TrueAnswers(graph.facts, graph.vocabulary, kind).of(queries)
    return list(zip(row.tolist(), answer.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(Filter))
@given(graph=graphs(), time=st.integers(-5, 12))
def test_true_answers_are_those_of_the_facts_each_once(kind: Filter, graph: Graph, time: int):
    queries = all_queries(graph, time)
    limits = ((filters.MAX_KEYS, filters.PIECE), (0, 3))
    found, again = (true_answers(graph, queries, kind, *each) for each in limits)
    assert again == found
    edges = directed_edges(graph.facts, graph.vocabulary) if kind is not Filter.RAW else []
    expected = {
        (i, o)
        for i, (s, r) in enumerate(zip(queries.subject.tolist(), queries.relation.tolist(), strict=True))
        for subject, relation, o, t in edges
        if (subject, relation) == (s, r) and (kind is Filter.STATIC or t == time)
    }
    assert sorted(found) == sorted(expected)


@given(graph=graphs())
def test_the_others_are_all_true_answers_except_the_given_one(graph: Graph):
    queries, answers = Queries.from_facts(graph.facts, graph.vocabulary)
    true_answers = TrueAnswers(graph.facts, graph.vocabulary)
    true = set(zip(*(column.tolist() for column in true_answers.of(queries)), strict=True))
    others = list(zip(*(column.tolist() for column in true_answers.others(queries, answers)), strict=True))
    assert len(others) == len(set(others))
    assert set(others) == true - set(enumerate(answers.tolist()))


@given(graph=graphs(), time=st.integers(-5, 12))
def test_popularity_is_the_share_of_past_answers(graph: Graph, time: int):
    queries = all_queries(graph, time)
    share = Popularity(History(graph.facts, graph.vocabulary)).share(queries)
    edges = directed_edges(graph.facts, graph.vocabulary)
    for i, relation in enumerate(queries.relation.tolist()):
        past = [o for _, r, o, t in edges if r == relation and t < time]
        for entity in range(graph.vocabulary.num_entities):
            assert float(share[i, entity]) == pytest.approx(past.count(entity) / max(len(past), 1))
