"""New relations between entities that had other facts with each other, against brute force."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.events.config import EventConfig
from titer.events.index import EventIndex
from titer.events.pairings import Pairings
from titer.events.rows import sample_new_rows
from titer.events.triples import Triples
from titer.graph.history import History

Row = tuple[int, int, int, int]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 9)), min_size=1)


def index_of(rows: list[Row]) -> EventIndex:
    vocabulary = Vocabulary([f"e{i}" for i in range(4)], ["r0", "r1", "r2"])
    return EventIndex(History(Facts.from_rows(rows), vocabulary), TimeAxis(TimeUnit.DAY, "2023-01-02"))


def as_set(triples: Triples) -> set[tuple[int, int, int]]:
    columns = (triples.subject.tolist(), triples.relation.tolist(), triples.object.tolist())
    return set(zip(*columns, strict=True))


@given(ROWS, st.integers(1, 10))
def test_candidates_are_all_missing_relations_of_pairs_with_a_fact(rows: list[Row], time: int):
    index, first = index_of(rows), min(row[3] for row in rows)
    past = [row for row in rows if row[3] < first + time]
    pairs = {pair for s, _, o, _ in past for pair in ((s, o), (o, s)) if s != o}
    known = {row[:3] for row in past}
    expected = {(s, r, o) for s, o in pairs for r in range(3)} - known
    found = as_set(Pairings(index).before(time, 1000).triples)
    # A relation without any earlier fact has a score too, since new relations of a pair may be new to all.
    assert found == expected


@given(ROWS, st.integers(1, 10))
def test_candidates_do_not_depend_on_facts_at_or_after_the_time(rows: list[Row], time: int):
    first = min(row[3] for row in rows)
    found = [
        Pairings(index_of(known)).before(time, 5) for known in (rows, [row for row in rows if row[3] < first + time])
    ]
    assert torch.allclose(found[0].score, found[1].score, rtol=1e-4)
    for name in ("subject", "relation", "object"):  # also among equal scores
        assert torch.equal(getattr(found[0].triples, name), getattr(found[1].triples, name))


@given(ROWS, st.integers(1, 10))
def test_pairs_with_an_earlier_fact_are_known(rows: list[Row], time: int):
    index, first = index_of(rows), min(row[3] for row in rows)
    every = Triples(*torch.cartesian_prod(torch.arange(4), torch.arange(3), torch.arange(4)).T)
    past = [row for row in rows if row[3] < first + time]
    pairs = {pair for s, _, o, _ in past for pair in ((s, o), (o, s))}
    known = {row[:3] for row in past}
    triples = list(zip(every.subject.tolist(), every.relation.tolist(), every.object.tolist(), strict=True))
    assert index.had_pair(every, time).tolist() == [(s, o) in pairs for s, _, o in triples]
    assert index.occurred(every, time).tolist() == [triple in known for triple in triples]


def test_examples_of_new_facts_are_true_and_end_before_the_end(world_data: Dataset):
    index = EventIndex(History(world_data.train, world_data.vocabulary), world_data.axis)
    config = EventConfig(new_steps=10, new_relations=500)
    rows = sample_new_rows(Pairings(index), 60, config, torch.Generator().manual_seed(0))
    target = rows.elapsed + rows.ahead - 1
    assert int(target.max()) < 60
    assert bool(rows.happened.any())
    assert torch.equal(rows.happened, index.occurs(index.find(rows.triples), target))
    for step in rows.elapsed.unique().tolist():
        at = (rows.elapsed == step).nonzero()[:, 0]
        assert not bool(index.occurred(rows.triples[at], step).any())
        assert bool(index.had_pair(rows.triples[at], step).all())
