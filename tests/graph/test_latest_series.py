import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import LAST_TIME, Graph, directed_edges, graphs
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.latest_series import latest_series


def expected_series(graph: Graph, subject: int, time: int, limit: int) -> list[tuple[int, int, int]]:
    """Return object, relation and last time of the series of one subject, from a list of all edges."""
    edges = directed_edges(graph.facts, graph.vocabulary)
    before = sorted(((t, r, o) for s, r, o, t in edges if s == subject and t < time), reverse=True)
    since = before[:limit][-1][0] if before else 0
    last: dict[tuple[int, int], int] = {}
    for t, r, o in before:
        if t >= since:
            last[o, r] = max(t, last.get((o, r), t))
    return sorted((o, r, t) for (o, r), t in last.items())


@given(graph=graphs(), times=st.lists(st.integers(-2, LAST_TIME + 1), min_size=1, max_size=3), limit=st.integers(1, 9))
def test_the_latest_edges_choose_the_series(graph: Graph, times: list[int], limit: int):
    history = History(graph.facts, graph.vocabulary)
    subjects = [(entity, time) for time in times for entity in range(graph.vocabulary.num_entities)]
    subject, time = torch.tensor(subjects).T
    found = latest_series(history, subject, history.elapsed(time), limit)
    last = history.pair_index.series.elapsed_of(found.event) + history.first_time
    rows = zip(found.row.tolist(), found.object.tolist(), found.relation.tolist(), last.tolist(), strict=True)
    assert list(rows) == [
        (row, *series) for row, each in enumerate(subjects) for series in expected_series(graph, *each, limit)
    ]


def test_the_order_of_facts_does_not_matter():
    rows = [(0, 0, object, time) for time in range(3) for object in range(1, 6)]
    vocabulary = Vocabulary.numbered(6, 1)
    for facts in (Facts.from_rows(rows), Facts.from_rows(rows[::-1])):
        found = latest_series(History(facts, vocabulary), torch.tensor([0]), 3, 2)
        assert found.object.tolist() == [1, 2, 3, 4, 5]


def test_a_series_has_its_facts_before_the_latest_edges_too():
    facts = Facts.from_rows([(0, 0, 1, 0), (0, 0, 2, 1), (0, 0, 1, 2), (0, 0, 3, 3)])
    history = History(facts, Vocabulary.numbered(4, 1))
    found = latest_series(history, torch.tensor([0]), 4, 2)
    assert found.object.tolist() == [1, 3]
    assert history.pair_index.series.number[found.event].tolist() == [2.0, 1.0]
