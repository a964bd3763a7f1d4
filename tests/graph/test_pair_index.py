from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graph.sizes import Size
from strategies import LAST_TIME, Graph, graphs
from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.graph.history import History
from titer.graph.pair_index import MAX_TRIPLES, PairIndex


def past_edges(graph: Graph, time: int) -> set[tuple[int, int, int, int]]:
    """Both directions of every fact before a time, each once."""
    inverse = graph.vocabulary.inverse
    forward = set(graph.facts.before(time))
    return forward | {(o, inverse(r), s, t) for s, r, o, t in forward}


class TestPairIndex:
    @given(graph=graphs(), time=st.integers(-2, LAST_TIME))
    def test_series_are_all_different_facts_before_the_time(self, graph: Graph, time: int):
        history = History(graph.facts, graph.vocabulary)
        elapsed = max(time - history.first_time, 0)
        entities = torch.arange(graph.vocabulary.num_entities)
        found = PairIndex(history).series_before(entities, elapsed)
        got = Counter(zip(found.row.tolist(), found.relation.tolist(), found.object.tolist(), strict=True))
        assert got == Counter({(s, r, o) for s, r, o, _ in past_edges(graph, time)})

    @given(graph=graphs(), time=st.integers(-2, LAST_TIME))
    def test_answers_are_counted_for_all_subjects_together(self, graph: Graph, time: int):
        history = History(graph.facts, graph.vocabulary)
        pair_index, elapsed = PairIndex(history), max(time - history.first_time, 0)
        row, answer, event = pair_index.answers_before(torch.arange(graph.vocabulary.num_directed_relations), elapsed)
        number = pair_index.answers.number[event].tolist()
        got = dict(zip(zip(row.tolist(), answer.tolist(), strict=True), number, strict=True))
        assert got == Counter((r, o) for _, r, o, _ in past_edges(graph, time))

    @given(graph=graphs(), times=st.lists(st.integers(0, LAST_TIME + 2), min_size=1, max_size=4))
    def test_each_pair_has_all_answers_before_its_own_time(self, graph: Graph, times: list[int]):
        history = History(graph.facts, graph.vocabulary)
        queries = [
            (subject, relation, time)
            for subject in range(graph.vocabulary.num_entities)
            for relation in range(graph.vocabulary.num_directed_relations)
            for time in times
        ]
        subject, relation, elapsed = torch.tensor(queries).T
        row, answer = PairIndex(history).answers_ever(subject, relation, elapsed)
        edges = past_edges(graph, history.first_time + LAST_TIME + 3)
        assert sorted(zip(row.tolist(), answer.tolist(), strict=True)) == sorted(
            (row, answer)
            for row, (s, r, before) in enumerate(queries)
            for answer in {o for s2, r2, o, t in edges if (s2, r2) == (s, r) and t - history.first_time < before}
        )

    @given(graph=graphs(), time=st.integers(-2, LAST_TIME))
    def test_each_pair_has_all_relations_before_the_time(self, graph: Graph, time: int):
        history = History(graph.facts, graph.vocabulary)
        entities = torch.arange(graph.vocabulary.num_entities)
        subject, object = torch.cartesian_prod(entities, entities).T
        for limit in (MAX_TRIPLES, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("titer.graph.pair_index.MAX_TRIPLES", limit)  # 0 numbers the pairs of entities
                index = PairIndex(history)
                row, relation = index.relations_between(subject, object, max(time - history.first_time, 0))
            found = zip(subject[row].tolist(), relation.tolist(), object[row].tolist(), strict=True)
            assert sorted(found) == sorted({edge[:3] for edge in past_edges(graph, time)})

    @given(graph=graphs(), time=st.integers(-2, LAST_TIME))
    def test_the_series_of_past_edges_are_all_series_before_the_time(self, graph: Graph, time: int):
        history = History(graph.facts, graph.vocabulary)
        elapsed, entities = max(time - history.first_time, 0), torch.arange(graph.vocabulary.num_entities)
        edges = history.all_before(entities, torch.full_like(entities, time))
        expected = PairIndex(history).series_before(entities, elapsed)
        for limit in (MAX_TRIPLES, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("titer.graph.pair_index.MAX_TRIPLES", limit)
                found = PairIndex(history).series_of(entities, edges.row, edges.relation, edges.object, elapsed)
            for name, column in vars(expected).items():
                assert torch.equal(getattr(found, name), column), name

    @given(graph=graphs(), time=st.integers(-2, LAST_TIME), limit=st.integers(1, 4))
    def test_latest_answers_are_different_and_the_latest(self, graph: Graph, time: int, limit: int):
        history = History(graph.facts, graph.vocabulary)
        pair_index, elapsed = PairIndex(history), max(time - history.first_time, 0)
        edges = past_edges(graph, time)
        for relation in range(graph.vocabulary.num_directed_relations):
            subject = torch.arange(graph.vocabulary.num_entities)
            found = pair_index.latest_answers(subject, torch.full_like(subject, relation), elapsed, limit)
            for s in subject.tolist():
                mine = found.row == s
                got = dict(
                    zip(found.object[mine].tolist(), (found.elapsed[mine] + history.first_time).tolist(), strict=True)
                )
                last = {o: max(t for a, r, b, t in edges if (a, r, b) == (s, relation, o)) for a, r, o, _ in edges
                        if (a, r) == (s, relation)}  # fmt: skip
                assert len(got) == int(mine.sum()) <= limit
                assert got.items() <= last.items()
                often = Counter(o for a, r, o, _ in edges if (a, r) == (s, relation))
                assert found.number[mine].tolist() == [often[o] for o in found.object[mine].tolist()]
                recent = sorted((t for a, r, _, t in edges if (a, r) == (s, relation)), reverse=True)[: 2 * limit]
                expected = sorted((t for t in last.values() if t > min(recent, default=0)), reverse=True)[:limit]
                assert sorted(got.values(), reverse=True)[: len(expected)] == expected

    @pytest.mark.slow
    @given(graph=graphs(), time=st.integers(-2, LAST_TIME))
    def test_facts_between_two_entities_are_complete(self, graph: Graph, time: int):
        history = History(graph.facts, graph.vocabulary)
        pair_index, elapsed = PairIndex(history), max(time - history.first_time, 0)
        edges = past_edges(graph, time)
        for s in range(min(3, graph.vocabulary.num_entities)):
            for o in range(graph.vocabulary.num_entities):
                relation, age = pair_index.facts_between(torch.tensor([s]), o, elapsed)
                got = Counter(zip(relation.tolist(), (time - age).tolist(), strict=True))
                assert got == Counter((r, t) for a, r, b, t in edges if (a, b) == (s, o))

    def test_vocabularies_of_any_size_are_indexed(self, monkeypatch: pytest.MonkeyPatch):
        history = History(Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 3)]), Vocabulary.numbered(2, 1))
        for entities, relations in ((1 << 20, 1 << 15), (1 << 30, 1 << 21)):
            size = Size(entities, relations)
            monkeypatch.setattr(history, "vocabulary", size)
            index = PairIndex(history)
            last_pair = torch.tensor([entities - 1]), torch.tensor([2 * relations - 1])
            assert len(index.latest_answers(*last_pair, 4, 1).row) == 0
            assert len(index.latest_answers(torch.tensor([0]), torch.tensor([0]), 4, 1).row) == 1
            row, relation = index.relations_between(torch.tensor([0, 0]), torch.tensor([1, entities - 1]), 4)
            assert (row.tolist(), relation.tolist()) == ([0, 0], [0, 1])  # ids of the edges

    def test_more_facts_than_positions_can_number_are_rejected(self, monkeypatch: pytest.MonkeyPatch):
        history = History(Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 3)]), Vocabulary.numbered(2, 1))
        monkeypatch.setattr("titer.graph.pair_columns.MAX_EDGES", 4)
        with pytest.raises(DataError, match="at most 1 facts can be indexed; leave out older facts"):
            PairIndex(history)
