"""From rows to facts: one fact per time step of an interval, and ids only for the names in use."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.counted import counted
from titer.errors import DataError

MAX_FACTS = 200_000_000
MAX_STEPS_PER_ROW = 100_000
"""Time steps of one row: 270 years of days, or 11 years of hours."""


class TooManyFactsError(DataError):
    """Intervals would become many more facts than there are rows."""


@dataclass(frozen=True)
class Expanded:
    """The facts that rows are made into."""

    rows: NDArray[np.int64] | None
    """The row of each fact; ``None`` if every row is one fact. (facts,)"""
    time: NDArray[np.int64]
    """The time step of each fact. (facts,)"""
    num_outside: int
    """Number of rows without facts."""


def expand(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    weight: NDArray[np.int64] | None = None,
    max_facts: int | None = None,
) -> Expanded:
    """Make one fact per time step, and as many of them as a row weighs.

    Args:
        first: The first time step of each row. (rows,)
        last: The last time step of each row. (rows,)
        weight: How often each fact counts; by default once. (rows,)
        max_facts: A number of facts that is probably a mistake.

    Raises:
        DataError: If there would be too many facts.
    """
    lengths = np.maximum(last - first + 1, 0)
    if np.all(lengths == 1) and weight is None:
        return Expanded(None, first, 0)
    if (longest := int(lengths.max())) > MAX_STEPS_PER_ROW:
        raise DataError(
            f"a row lasts {longest:,} time steps, more than {MAX_STEPS_PER_ROW:,}; use a coarser --unit, "
            "or --earliest and --latest"
        )
    copies = np.ones_like(lengths) if weight is None else weight
    total = int((lengths * copies.astype(np.float64)).sum())  # a sum of integers could overflow
    if total > MAX_FACTS:
        raise DataError(f"these rows span {total:,} time steps in total, more than {MAX_FACTS:,}; use a coarser --unit")
    if max_facts is not None and total > max_facts and total > 20 * len(first):
        raise TooManyFactsError(
            f"{counted(len(first), 'row')} would become {total:,} facts, one for each time step of their intervals"
        )
    rows = np.repeat(np.arange(len(first)), lengths)
    starts = np.cumsum(lengths) - lengths
    time = np.arange(len(rows)) - starts[rows] + first[rows]
    if weight is not None:
        each = np.repeat(np.arange(len(rows)), weight[rows])
        rows, time = rows[each], time[each]
    return Expanded(rows, time, int((lengths == 0).sum()))


def pick(column: NDArray[Any], rows: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return the values of some rows, or of all."""
    return column if rows is None else column[rows]


def in_use(names: list[str], *columns: NDArray[np.int32]) -> tuple[list[NDArray[np.int32]], list[str]]:
    """Renumber the ids so that only names in use have one; their order stays."""
    used = np.zeros(len(names), dtype=bool)
    for column in columns:
        used[column] = True
    ids = np.cumsum(used, dtype=np.int32) - 1
    return [ids[column] for column in columns], [name for name, keep in zip(names, used, strict=True) if keep]
