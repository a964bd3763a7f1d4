"""Counts by group, and training examples, against brute force."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.events.counts import NEVER, GroupedCounts
from titer.events.index import EventIndex
from titer.events.rows import sample_rows
from titer.events.triples import Triples
from titer.graph.decayed_counts import HORIZONS
from titer.graph.history import History

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3), st.integers(0, 12)), min_size=1)


def index_of(rows: list[tuple[int, int, int, int]]) -> EventIndex:
    vocabulary = Vocabulary([f"e{i}" for i in range(4)], ["r0", "r1"])
    return EventIndex(History(Facts.from_rows(rows), vocabulary), TimeAxis(TimeUnit.DAY, "2023-01-02"))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30), st.integers(0, 4), st.integers(0, 12))
def test_the_state_of_a_group_counts_the_facts_before_a_time(facts: list[tuple[int, int]], key: int, time: int):
    columns = [torch.tensor([fact[i] for fact in facts], dtype=torch.long) for i in (0, 1)]
    state = GroupedCounts(*columns).state_of(torch.tensor([key]), torch.tensor([time]))
    ages = [time - t for k, t in facts if k == key and t < time]
    assert float(state.number) == len(ages)
    assert int(state.age) == min(ages, default=NEVER)
    expected = [sum(math.exp(-(age - 1) / horizon) for age in ages) for horizon in HORIZONS]
    assert state.counts[0].tolist() == pytest.approx(expected, rel=1e-4)


@given(ROWS, st.integers(1, 13))
def test_features_do_not_depend_on_facts_at_or_after_the_time(rows: list[tuple[int, int, int, int]], time: int):
    first = min(row[3] for row in rows)
    past = [row for row in rows if row[3] < first + time]
    triples = Triples(*(torch.tensor([row[i] for row in past]) for i in range(3)))
    elapsed = torch.full_like(triples.subject, time)
    found = []
    for known in (rows, past):
        index = index_of(known)
        states = index.states(triples, elapsed)
        ahead = torch.full_like(elapsed, 3)
        bag = index.bag(triples, elapsed)
        found.append(
            [
                index.features(states, elapsed),
                index.target_features(triples, states["fact"], elapsed, ahead),
                bag.offset.float(),
                bag.relation.float(),
                bag.weight,
            ]
        )
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@given(ROWS)
def test_occurrences_are_found(rows: list[tuple[int, int, int, int]]):
    index = index_of(rows)
    first = min(row[3] for row in rows)
    known = {(s, r, o, t - first) for s, r, o, t in rows}
    for place in range(len(index.triples)):
        triple = tuple(int(getattr(index.triples, name)[place]) for name in ("subject", "relation", "object"))
        times = sorted(fact[3] for fact in known if fact[:3] == triple)
        assert int(index.began[place]) == times[0]
        for time in range(13):
            at = torch.tensor([place]), torch.tensor([time])
            assert bool(index.occurs(*at)) == (time in times)
            later = [t for t in times if t >= time]
            assert (int(index.next(*at)) == later[0]) if later else (int(index.next(*at)) > 10**6)


def test_training_examples_are_true_and_end_before_the_end(world_data: Dataset):
    index = EventIndex(History(world_data.train, world_data.vocabulary), world_data.axis)
    rows = sample_rows(index, 60, 3000, torch.Generator().manual_seed(0))
    target = rows.elapsed + rows.ahead - 1
    assert int(target.max()) < 60
    assert bool((index.began[rows.triple] < rows.elapsed).all())
    assert torch.equal(rows.happened, index.occurs(rows.triple, target))
    between = [
        any(
            bool(index.occurs(rows.triple[i : i + 1], torch.tensor([t])))
            for t in range(int(rows.elapsed[i]), int(target[i]))
        )
        for i in range(0, len(rows), 50)
    ]
    assert rows.is_first[::50].tolist() == [not found for found in between]


def test_weights_make_up_for_the_sampling_of_examples(world_data: Dataset):
    index = EventIndex(History(world_data.train, world_data.vocabulary), world_data.axis)
    rows = sample_rows(index, 100, 30_000, torch.Generator().manual_seed(0))
    one = (rows.ahead == 1) & ~rows.happened
    number = sum(
        len(index.before(step)) - int((index.began[index.facts_at(step)] < step).sum()) for step in range(10, 100)
    )
    assert float(rows.weight[one].sum()) == pytest.approx(number, rel=0.1)
    happened = (rows.ahead == 1) & rows.happened
    expected = sum(int((index.began[index.facts_at(step)] < step).sum()) for step in range(10, 100))
    assert float(rows.weight[happened].sum()) == pytest.approx(expected, rel=0.05)
    assert np.isfinite(rows.weight.numpy()).all()
