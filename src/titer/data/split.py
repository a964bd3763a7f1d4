"""Chronological splits: no time step is in two of them."""

import numpy as np

from titer.counted import counted
from titer.data.facts import Facts
from titer.errors import DataError

Splits = tuple[Facts, Facts, Facts]


def split_by_fraction(facts: Facts, fractions: tuple[float, float, float]) -> Splits:
    """Split facts at the time steps that are closest to the given shares of training, validation and test."""
    if min(fractions) < 0 or fractions[0] == 0 or not np.isclose(sum(fractions), 1):
        raise DataError(f"the shares of train, valid and test must add up to 1, not {fractions}")
    wanted = [name for name, share in zip(("train", "valid", "test"), fractions, strict=True) if share > 0]
    steps, counts = np.unique(facts.time, return_counts=True)
    if len(steps) < len(wanted):
        raise DataError(
            f"{counted(len(steps), 'distinct time step')} cannot be split into {', '.join(wanted)}; "
            "--split 1,0,0 uses all facts for training"
        )
    until = np.concatenate([[0], np.cumsum(counts)]) / len(facts)  # share of facts before each step
    valid = _closest(until, fractions[0], low=1, high=len(steps) - len(wanted) + 1)
    low = valid + (fractions[1] > 0)
    test = _closest(until, fractions[0] + fractions[1], low=low, high=len(steps) - (fractions[2] > 0))
    first_valid, first_test = (int(steps[i]) if i < len(steps) else int(steps[-1]) + 1 for i in (valid, test))
    return split_by_time(facts, first_valid, first_test)


def split_by_time(facts: Facts, first_valid: int, first_test: int) -> Splits:
    """Split facts into those before ``first_valid``, those from there to before ``first_test``, and the rest."""
    if first_test < first_valid:
        raise DataError("the test split must not begin before the valid split")
    ordered = facts.sorted_by_time()
    a, b = np.searchsorted(ordered.time, [first_valid, first_test])
    return ordered[:a], ordered[a:b], ordered[b:]


def _closest(until: np.ndarray, share: float, low: int, high: int) -> int:
    return low + int(np.argmin(np.abs(until[low : high + 1] - share)))
