"""Splits are chronological for all shares and dates."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import Graph, graphs
from titer.data.facts import Facts
from titer.data.import_files import SplitOptions
from titer.data.split import Splits, split_by_fraction, split_by_time
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError


def at_times(*times: int) -> Facts:
    return Facts.from_rows([(0, 0, 0, time) for time in times])


def times(splits: Splits) -> list[list[int]]:
    return [part.time.tolist() for part in splits]


@st.composite
def shares(draw: st.DrawFn) -> tuple[float, float, float]:
    train, valid, test = draw(st.integers(1, 100)), draw(st.integers(0, 100)), draw(st.integers(0, 100))
    total = train + valid + test
    return train / total, valid / total, test / total


def assert_chronological(facts: Facts, splits: Splits) -> None:
    steps = [set(part.time.tolist()) for part in splits]
    assert max(steps[0], default=-99) < min(steps[1] | steps[2], default=99)
    assert max(steps[1], default=-99) < min(steps[2], default=99)
    assert list(Facts.concatenate(*splits)) == list(facts.sorted_by_time())


@given(graph=graphs(), fractions=shares())
def test_splits_by_share_have_no_common_step_and_keep_every_fact(graph: Graph, fractions: tuple[float, float, float]):
    wanted = sum(share > 0 for share in fractions)
    assume(len(set(graph.facts.time.tolist())) >= wanted)
    splits = split_by_fraction(graph.facts, fractions)
    assert_chronological(graph.facts, splits)
    assert [len(part) > 0 for part in splits] == [share > 0 for share in fractions]


@given(graph=graphs(), cuts=st.tuples(st.integers(-5, 12), st.integers(-5, 12)))
def test_splits_by_date_have_no_common_step_and_keep_every_fact(graph: Graph, cuts: tuple[int, int]):
    first_valid, first_test = sorted(cuts)
    splits = split_by_time(graph.facts, first_valid, first_test)
    assert_chronological(graph.facts, splits)
    assert all(time < first_valid for time in splits[0].time.tolist())
    assert all(first_valid <= time < first_test for time in splits[1].time.tolist())
    assert all(first_test <= time for time in splits[2].time.tolist())


@given(graph=graphs(), fractions=shares())
def test_splits_are_as_close_to_the_shares_as_steps_allow(graph: Graph, fractions: tuple[float, float, float]):
    assume(min(fractions) > 0)
    steps = sorted(set(graph.facts.time.tolist()))
    assume(len(steps) >= 3)
    train = len(split_by_fraction(graph.facts, fractions)[0]) / len(graph.facts)
    possible = [sum(t < cut for t in graph.facts.time.tolist()) / len(graph.facts) for cut in steps[1:-1]]
    assert abs(train - fractions[0]) == min(abs(share - fractions[0]) for share in possible)


def test_shares_of_even_steps_are_exact():
    assert times(split_by_fraction(at_times(*range(10)), (0.8, 0.1, 0.1))) == [list(range(8)), [8], [9]]


@pytest.mark.parametrize("fractions", [(0.8, 0.1, 0.2), (0.0, 0.5, 0.5), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5)])
def test_shares_that_do_not_add_up_are_rejected(fractions: tuple[float, float, float]):
    with pytest.raises(DataError, match="must add up to 1"):
        split_by_fraction(at_times(1, 2, 3), fractions)


def test_too_few_steps_for_the_shares_are_rejected_with_a_hint():
    with pytest.raises(DataError, match=r"2 distinct time.*--split 1,0,0"):
        split_by_fraction(at_times(1, 1, 2, 2), (0.5, 0.25, 0.25))
    assert times(split_by_fraction(at_times(1, 1, 2), (1, 0, 0))) == [[1, 1, 2], [], []]


def test_a_test_split_before_the_valid_split_is_rejected():
    with pytest.raises(DataError, match="must not begin before"):
        split_by_time(at_times(1, 2, 3), 3, 2)


def test_splits_begin_at_the_given_dates():
    axis = TimeAxis(TimeUnit.DAY, "2018-01-01")
    options = SplitOptions(valid_from="2018-01-03", test_from="2018-01-05")
    assert times(options.split(at_times(*range(6)), axis)) == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("options", [SplitOptions(valid_from="2018-01-03"), SplitOptions(test_from="2018-01-03")])
def test_one_date_alone_is_rejected(options: SplitOptions):
    with pytest.raises(DataError, match="of both valid and test"):
        options.split(at_times(1, 2, 3), TimeAxis(TimeUnit.DAY, "2018-01-01"))
