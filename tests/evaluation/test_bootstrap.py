"""The paired bootstrap."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from titer.evaluation.bootstrap import paired_difference


@settings(max_examples=10)
@given(st.integers(2, 60), st.integers(0, 2**31))
def test_the_interval_changes_sign_with_the_order(size: int, seed: int):
    random = np.random.default_rng(seed)
    first, second = random.random(size), random.random(size)
    one, other = paired_difference(first, second), paired_difference(second, first)
    assert one.difference == pytest.approx(first.mean() - second.mean())
    assert (other.low, other.high) == (pytest.approx(-one.high), pytest.approx(-one.low))


def test_the_width_of_the_interval_is_that_of_the_normal_approximation():
    random = np.random.default_rng(0)
    first = random.random(4000)
    second = first + random.normal(0.01, 0.2, 4000)
    found = paired_difference(first, second)
    half = 1.96 * (first - second).std() / np.sqrt(4000)
    assert (found.low, found.high) == (
        pytest.approx(found.difference - half, abs=half / 5),
        pytest.approx(found.difference + half, abs=half / 5),
    )
    assert found.high < 0


def test_pairing_matters():
    random = np.random.default_rng(0)
    first = random.random(500)
    assert paired_difference(first + 0.001, first).low > 0
    unpaired = paired_difference(random.permutation(first) + 0.001, first)
    assert unpaired.low < 0 < unpaired.high


def test_equal_models_do_not_differ():
    found = paired_difference(np.ones(5), np.ones(5))
    assert (found.difference, found.low, found.high) == (0, 0, 0)
