"""An index that is updated where facts changed equals one that is built from all facts."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import LAST_TIME, Graph, graphs, random_facts
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph import history as history_module
from titer.graph import pair_pieces, sorted_edges
from titer.graph.history import History
from titer.graph.pair_index import PairIndex


def assert_same(found: PairIndex, expected: PairIndex) -> None:
    assert set(found.columns) == set(expected.columns)
    for name, column in expected.columns.items():
        assert found.columns[name].dtype == column.dtype, name
        torch.testing.assert_close(found.columns[name], column, rtol=1e-6, atol=0, msg=name)
    assert torch.equal(found.by_first, expected.by_first)
    assert torch.equal(found.rank, expected.rank)


@st.composite
def changed_graphs(draw: st.DrawFn) -> tuple[Graph, Facts, Vocabulary]:
    """A graph, facts to add to it of any time, and a vocabulary with the entities of both."""
    graph, num_new = draw(graphs()), draw(st.integers(0, 2))
    vocabulary = Vocabulary.numbered(graph.vocabulary.num_entities + num_new, graph.vocabulary.num_relations)
    entity, relation = st.integers(0, vocabulary.num_entities - 1), st.integers(0, vocabulary.num_relations - 1)
    rows = draw(st.lists(st.tuples(entity, relation, entity, st.integers(-9, LAST_TIME + 4)), max_size=6))
    return graph, Facts.from_rows(rows), vocabulary


@pytest.mark.slow
@given(changed_graphs())
def test_an_index_with_added_facts_is_that_of_all_facts(change: tuple[Graph, Facts, Vocabulary]):
    graph, added, vocabulary = change
    history = History(graph.facts, graph.vocabulary)
    larger = history.including(added, vocabulary)
    changed = torch.tensor(sorted({*added.subject.tolist(), *added.object.tolist()}), dtype=torch.int64)
    rebuilt = PairIndex(History(Facts.concatenate(graph.facts, added), vocabulary))
    assert_same(PairIndex(history).updated(larger, changed), rebuilt)
    # Entities that did not change may be among those that are computed.
    assert_same(PairIndex(history).updated(larger, torch.arange(vocabulary.num_entities)), rebuilt)


@pytest.mark.slow
@given(graphs(), st.data())
def test_an_index_without_some_facts_is_that_of_the_others(graph: Graph, data: st.DataObject):
    history = History(graph.facts, graph.vocabulary)
    rows = data.draw(st.lists(st.integers(0, max(len(graph.facts) - 1, 0)), max_size=3 if len(graph.facts) else 0))
    removed = graph.facts[rows] if rows else Facts.empty()
    smaller = history.without(removed)
    changed = sorted({*removed.subject.tolist(), *removed.object.tolist()})
    found = PairIndex(history).updated(smaller, torch.tensor(changed, dtype=torch.int64))
    assert_same(found, PairIndex(smaller))


@pytest.mark.slow
@given(changed_graphs())
def test_histories_update_the_index_over_several_changes(change: tuple[Graph, Facts, Vocabulary]):
    graph, added, vocabulary = change
    assume(len(graph.facts))
    history = History(graph.facts, graph.vocabulary)
    _ = history.pair_index
    # The second history has no index when the third is made, and neither has the third.
    last = history.including(added, vocabulary).without(graph.facts[:2]).including(added[:1], vocabulary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_module, "UPDATE_COST", -1_000_000)  # updating is always cheaper
        patch.setattr(PairIndex, "__init__", _fail)
        found = last.pair_index
    assert_same(found, PairIndex(last))


def _fail(*_: object) -> None:
    raise AssertionError("the index is built from the start")


def test_a_small_change_of_a_large_history_updates_the_index(monkeypatch: pytest.MonkeyPatch):
    vocabulary = Vocabulary.numbered(2000, 5)
    history = History(random_facts(0, 20_000, 2000, 5, 300), vocabulary)
    _ = history.pair_index
    changed = history.including(Facts.from_rows([(1, 2, 3, 301), (4, 0, 5, 301)]))
    expected = PairIndex(changed)
    monkeypatch.setattr(PairIndex, "__init__", _fail)
    assert_same(changed.pair_index, expected)


def test_a_large_change_builds_the_index_from_the_start(monkeypatch: pytest.MonkeyPatch):
    vocabulary = Vocabulary.numbered(2000, 5)
    history = History(random_facts(0, 20_000, 2000, 5, 300), vocabulary)
    _ = history.pair_index
    changed = history.including(random_facts(1, 2000, 2000, 5, 300))
    monkeypatch.setattr(PairIndex, "updated", _fail)
    assert_same(changed.pair_index, PairIndex(changed))


@pytest.mark.parametrize(
    ("threads", "piece", "num_pieces"), [(1, 100, 60), (2, 100, 60), (2, sorted_edges.MAX_PIECE, 2)]
)
def test_the_index_does_not_depend_on_pieces_and_threads(
    threads: int, piece: int, num_pieces: int, monkeypatch: pytest.MonkeyPatch
):
    facts, vocabulary = random_facts(0, 3000, 70, 5, 30), Vocabulary.numbered(90, 5)
    whole = History(facts, vocabulary)
    expected = PairIndex(whole)
    monkeypatch.setattr(pair_pieces, "PIECE", 100)
    monkeypatch.setattr(sorted_edges, "MIN_PIECE", 100)
    monkeypatch.setattr(sorted_edges, "MAX_PIECE", piece)
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    assert len(list(sorted_edges.edge_pieces(facts, vocabulary, 0)[1])) == num_pieces
    divided = History(facts, vocabulary)
    for name in history_module.COLUMNS:
        assert torch.equal(getattr(divided, name), getattr(whole, name)), name
    assert_same(PairIndex(divided), expected)


def test_times_of_more_than_31_bits_are_indexed():
    """Seconds since the year 1: elapsed times fit into 32 bits, but not into a signed integer of 32 bits."""
    last = (1 << 32) - 1
    facts = Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, last - 1), (0, 0, 2, last), (0, 0, 1, 5)])
    index = History(facts, Vocabulary.numbered(3, 1)).pair_index
    latest = index.latest_answers(torch.tensor([0]), torch.tensor([0]), last, 3)
    assert (latest.object.tolist(), latest.elapsed.tolist(), latest.number.tolist()) == ([1], [last - 1], [3.0])
    latest = index.latest_answers(torch.tensor([0]), torch.tensor([0]), last - 1, 3)
    assert (latest.object.tolist(), latest.elapsed.tolist(), latest.number.tolist()) == ([1], [5], [2.0])


def test_an_index_is_updated_when_times_become_too_large_for_32_bits():
    history = History(Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 7)]), Vocabulary.numbered(4, 1))
    later = Facts.from_rows([(2, 0, 3, (1 << 31) + 5)])
    larger = history.including(later)
    assert_same(history.pair_index.updated(larger, torch.tensor([2, 3])), PairIndex(larger))


def test_questions_far_after_the_last_fact_find_it():
    index = History(Facts.from_rows([(0, 0, 1, 0), (0, 0, 1, 7)]), Vocabulary.numbered(3, 1)).pair_index
    latest = index.latest_answers(torch.tensor([0]), torch.tensor([0]), (1 << 32) - 1, 3)
    assert latest.elapsed.tolist() == [7]


@pytest.mark.slow
@given(graphs(), st.integers(0, LAST_TIME))
def test_facts_at_or_after_the_time_change_no_answer_of_the_index(graph: Graph, time: int):
    """Look-ups in an index of all facts give what an index of the earlier facts gives."""
    vocabulary = graph.vocabulary
    past = graph.facts.before(time)
    everything, earlier = History(graph.facts, vocabulary), History(past, vocabulary)
    if len(past) == 0:
        return
    elapsed = time - everything.first_time
    entities, relations = torch.arange(vocabulary.num_entities), torch.arange(vocabulary.num_directed_relations)
    pair = torch.cartesian_prod(entities, relations).T
    found, expected = everything.pair_index, earlier.pair_index
    assert found.num_known(elapsed) == expected.num_known(elapsed)
    for name, arguments in {
        "series_before": (entities, elapsed),
        "latest_answers": (*pair, elapsed, 2),
        "relations_between": (*torch.cartesian_prod(entities, entities).T, elapsed),
        "answers_ever": (*pair, torch.full_like(pair[0], elapsed)),
        "answer_features": (pair[1], pair[0], elapsed),
    }.items():
        got, wanted = (getattr(index, name)(*arguments) for index in (found, expected))
        if name == "series_before":  # events are numbered within each index
            got, wanted = (
                (s.row, s.relation, s.object, index.series.counts_at(s.event, elapsed), index.series.number[s.event])
                for index, s in ((found, got), (expected, wanted))
            )
        if name == "latest_answers":
            got, wanted = vars(got).values(), vars(wanted).values()
        torch.testing.assert_close(tuple(got), tuple(wanted))
