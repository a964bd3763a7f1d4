from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.graph.history import History
from titer.graph.snapshots import Snapshots

times = st.integers(-5, LAST_TIME + 2)


def by_time(graph: Graph) -> dict[int, set[tuple[int, int, int]]]:
    """The directed edges of every time step, each once."""
    found = defaultdict(set)
    for subject, relation, object, time in directed_edges(graph.facts, graph.vocabulary):
        found[time].add((subject, relation, object))
    return dict(sorted(found.items()))


def triples(snapshots: Snapshots, edges: torch.Tensor) -> list[tuple[int, int, int]]:
    subject = snapshots.entity[snapshots.node[edges]]
    columns = (subject, snapshots.relation[edges], snapshots.object[edges])
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(graph=graphs(), time=times)
def test_there_are_as_many_snapshots_before_a_time_as_steps_with_facts(graph: Graph, time: int):
    snapshots = History(graph.facts, graph.vocabulary).snapshots
    assert snapshots.times == list(by_time(graph))
    assert snapshots.before(time) == sum(step < time for step in by_time(graph))


@pytest.mark.slow
@given(graph=graphs())
def test_the_edges_of_a_snapshot_are_the_facts_of_its_step_each_once(graph: Graph):
    snapshots = History(graph.facts, graph.vocabulary).snapshots
    for step, expected in enumerate(by_time(graph).values()):
        nodes = snapshots.nodes(step, step + 1)
        assert sorted(snapshots.entity[nodes].tolist()) == sorted({subject for subject, _, _ in expected})
        row, edges = snapshots.edges(nodes)
        found = triples(snapshots, edges)
        assert sorted(found) == sorted(expected)
        assert torch.equal(nodes[row], snapshots.node[edges])
        assert torch.equal(snapshots.entity[snapshots.neighbour[edges]], snapshots.object[edges])
        assert set(snapshots.step[snapshots.neighbour[edges]].tolist()) <= {step}


@given(graph=graphs(), time=times, limit=st.integers(1, 5))
def test_the_latest_nodes_of_an_entity_are_its_latest_steps_with_facts(graph: Graph, time: int, limit: int):
    snapshots = History(graph.facts, graph.vocabulary).snapshots
    entities = torch.arange(graph.vocabulary.num_entities)
    nodes, exists = snapshots.latest(entities, snapshots.before(time), limit)
    for entity in entities.tolist():
        steps = [step for step, edges in by_time(graph).items() if entity in {edge[0] for edge in edges}]
        expected = [step for step in steps if step < time][-limit:]
        assert exists[entity].tolist() == [False] * (limit - len(expected)) + [True] * len(expected)
        found = nodes[entity][exists[entity]]
        assert [snapshots.times[step] for step in snapshots.step[found].tolist()] == expected
        assert set(snapshots.entity[found].tolist()) <= {entity}


@given(graph=graphs())
def test_a_fact_begins_and_ceases_where_the_adjacent_snapshot_lacks_it(graph: Graph):
    snapshots = History(graph.facts, graph.vocabulary).snapshots
    steps = [set(), *by_time(graph).values(), set()]
    for step, (before, now, after) in enumerate(zip(steps, steps[1:], steps[2:], strict=False)):
        _, edges = snapshots.edges(snapshots.nodes(step, step + 1))
        assert set(triples(snapshots, edges[snapshots.begins[edges]])) == now - before
        assert set(triples(snapshots, edges[snapshots.ceases[edges]])) == now - after


def test_a_history_without_facts_has_no_snapshots():
    snapshots = History(Facts.empty(), Vocabulary.numbered(2, 1)).snapshots
    assert snapshots.before(10) == 0
    assert len(snapshots.nodes(0, 0)) == 0
    _, exists = snapshots.latest(torch.tensor([0, 1]), 0, 3)
    assert not bool(exists.any())
    assert len(snapshots.begins) == len(snapshots.ceases) == 0


def test_more_edges_than_an_integer_can_number_are_rejected(monkeypatch: pytest.MonkeyPatch):
    history = History(Facts.from_rows([(0, 0, 1, 0)]), Vocabulary.numbered(2, 1))
    size = SimpleNamespace(num_entities=1 << 40, num_directed_relations=(1 << 22) - 1)
    monkeypatch.setattr(history, "vocabulary", size)
    assert triples(Snapshots(history), torch.arange(2)) == [(0, 0, 1), (1, 1, 0)]
    size.num_directed_relations += 1
    with pytest.raises(DataError, match="nodes x relations x entities"):
        Snapshots(history)
