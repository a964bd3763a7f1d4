"""Which paths a path mixture finds."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.small_path_mixture import SMALL, mixture
from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Edge
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.model import PathMixture


def found_paths(model: PathMixture, query: Queries, graph: Graph) -> set[tuple[Edge, ...]]:
    """The paths of all evidence for all answers."""
    history, entities = History(graph.facts, graph.vocabulary), range(graph.vocabulary.num_entities)
    with torch.inference_mode():
        evidence = [item for answer in entities for item in model.explain(query, answer, history, 1_000_000)]
    return {item.path for item in evidence if item.path}


@pytest.mark.slow
@given(graph=graphs(max_facts=20), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_all_paths_of_two_hops_count(graph: Graph, time: int, seed: int):
    model = mixture(graph, direct=False, same_relation=False, first_edges=40, second_edges=40)
    subject = seed % graph.vocabulary.num_entities
    edges = [Edge(*edge) for edge in directed_edges(graph.facts.before(time), graph.vocabulary)]
    expected = {
        (first, second)
        for first in edges
        for second in edges
        if first.subject == subject and second.subject == first.object and second.object != subject
    }
    assert found_paths(model, Queries.one(subject, 0, time), graph) == expected


@pytest.mark.slow
@given(graph=graphs(max_facts=20), time=st.integers(-2, LAST_TIME), seed=st.integers(0, 9))
def test_paths_of_the_same_relation_use_the_latest_fact_of_each_series(graph: Graph, time: int, seed: int):
    model = mixture(graph, direct=False, two_hops=False, first_edges=40, same_edges=40)
    subject = seed % graph.vocabulary.num_entities
    relation = seed % graph.vocabulary.num_directed_relations
    edges = sorted(directed_edges(graph.facts.before(time), graph.vocabulary), key=lambda edge: edge[3])
    latest = [Edge(*kind, t) for kind, t in {(s, r, o): t for s, r, o, t in edges}.items()]
    there = [edge for edge in latest if edge.relation == relation]
    back = [edge for edge in latest if edge.relation == graph.vocabulary.inverse(relation)]
    two = {
        (Edge(*first), second)
        for first in edges
        for second in there
        if first[0] == subject and first[2] == second.subject and second.object != subject
    }
    three = {
        (first, second, third)
        for first in there
        for second in back
        for third in there
        if first.subject == subject and first.object == second.subject and second.object == third.subject
        if second.object != subject and third.object != first.object
    }
    assert found_paths(model, Queries.one(subject, relation, time), graph) == two | three


def test_each_kind_of_path_reaches_what_only_it_can_reach():
    # 0 —0→ 1 —1→ 2: two hops.  0 —0→ 1 ←0— 3 —0→ 4: three hops of one relation.
    vocabulary = Vocabulary.numbered(5, 2)
    facts = Facts.from_rows([(0, 0, 1, 1), (1, 1, 2, 1), (3, 0, 1, 2), (3, 0, 4, 2)])
    history = History(facts, vocabulary)
    query = Queries.one(0, 0, 5)

    def lengths(answer: int, **kinds: bool) -> set[int]:
        settings = {**SMALL, "two_hops": False, "same_relation": False, **kinds}
        model = PathMixture(vocabulary, TimeAxis(), PathMixtureConfig(**settings)).eval()
        return {len(item.path) for item in model.explain(query, answer, history, 100) if item.path}

    with torch.inference_mode():
        assert lengths(1) == {1}
        assert lengths(2) == set()
        assert lengths(2, two_hops=True) == {2}
        assert lengths(4) == set()
        assert 3 in lengths(4, same_relation=True)
        assert lengths(1, direct=False) == set()


def test_the_first_hops_of_a_batch_are_looked_up_once(monkeypatch: pytest.MonkeyPatch):
    vocabulary = Vocabulary.numbered(5, 2)
    history = History(Facts.from_rows([(0, 0, 1, 1), (1, 1, 2, 1), (3, 0, 1, 2), (3, 0, 4, 2)]), vocabulary)
    model = mixture(Graph(Facts.empty(), vocabulary), members=2, prior=False)
    subjects: list[list[int]] = []
    latest = History.latest

    def recorded(self: History, entity: torch.Tensor, *rest: Any, **options: Any) -> Any:
        subjects.append(entity.tolist())
        return latest(self, entity, *rest, **options)

    monkeypatch.setattr(History, "latest", recorded)
    with torch.inference_mode():
        model.score(Queries.one(3, 0, 5), history)
    assert subjects.count([3]) == 1  # for both kinds of paths that begin with them, of both members
