import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.graph.count_features import NUM_FEATURES, features, features_of, no_features
from titer.graph.decayed_counts import HORIZONS, DecayedCounts

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=40)


def counts_of(events: list[tuple[int, int]]) -> DecayedCounts:
    """The counts of (group, elapsed time) pairs."""
    return DecayedCounts(*(torch.tensor([event[i] for event in events], dtype=torch.int64) for i in (0, 1)))


@given(events=EVENTS, now=st.integers(0, 14))
def test_decayed_counts_are_the_sum_over_all_earlier_events(events: list[tuple[int, int]], now: int):
    counts = counts_of(events)
    event, exists = counts.last(torch.arange(5), now)
    for g in range(5):
        past = [t for group, t in events if group == g and t < now]
        assert bool(exists[g]) == bool(past)
        if past:
            found = counts.counts_at(event[g : g + 1], now)[0].tolist()
            expected = [sum(math.exp(-(now - t - 1) / horizon) for t in past) for horizon in HORIZONS]
            assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
            assert float(counts.number[event[g]]) == len(past)
            assert counts.age_at(event[g : g + 1], now).tolist() == [now - max(past)]


@given(events=EVENTS, now=st.integers(0, 14))
@pytest.mark.slow
def test_features_are_those_of_the_counts_or_of_an_empty_group(events: list[tuple[int, int]], now: int):
    counts = counts_of(events)
    found, exists = features_of(counts, torch.arange(5), now)
    assert found.shape == (5, NUM_FEATURES)
    for g in range(5):
        past = [t for group, t in events if group == g and t < now]
        assert bool(exists[g]) == bool(past)
        expected = no_features(found.device)
        if past:
            sums = torch.tensor([[sum(math.exp(-(now - t - 1) / horizon) for t in past) for horizon in HORIZONS]])
            expected = features(sums, torch.tensor([float(len(past))]), torch.tensor([now - max(past)]))[0]
        torch.testing.assert_close(found[g], expected, rtol=1e-4, atol=1e-5)


def test_more_events_and_larger_ages_have_larger_features():
    once, twice = torch.ones(1, len(HORIZONS)), torch.full((1, len(HORIZONS)), 2.0)
    one, two = torch.ones(1), torch.full((1,), 2.0)
    assert bool((features(twice, two, one)[0, :-1] > features(once, one, one)[0, :-1]).all())
    assert features(once, one, two)[0, -1] > features(once, one, one)[0, -1]
