"""Sorting rows of several integer columns, which takes most of the time to index facts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.integer]
MAX_BITS = 63
"""Bits of a non-negative 64-bit integer."""


def num_bits(count: int) -> int:
    """Return the number of bits that hold the integers ``0 .. count-1``."""
    return max(count - 1, 0).bit_length()


def sorted_rows(columns: Sequence[Column], counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return columns of non-negative integers with their rows in lexicographic order.

    Rows that fit into 64 bits are packed into one integer each: sorting plain integers is several times as fast as
    finding the order of rows and then moving them. Wider rows are sorted column by column.

    Args:
        columns: The columns, the most significant first. Shape ``(rows,)`` each.
        counts: For each column a number that all its values are below.

    Returns:
        The sorted columns. Shape ``(rows,)`` each.
    """
    bits = [num_bits(count) for count in counts]
    if sum(bits) > MAX_BITS:
        order = np.lexsort(tuple(reversed(columns)))
        return [column[order].astype(np.int64, copy=False) for column in columns]
    code = columns[0].astype(np.int64)
    for column, width in zip(columns[1:], bits[1:], strict=True):
        code <<= width
        code |= column
    code.sort()
    found = []
    for width in reversed(bits[1:]):
        found.append(code & ((1 << width) - 1))
        code >>= width
    return [code, *reversed(found)]


def changes(*columns: Column) -> NDArray[np.bool_]:
    """Return which rows differ from the row before them; the first row always does. (rows,)"""
    changed = np.ones(len(columns[0]), dtype=bool)
    if len(changed):
        np.not_equal(columns[0][1:], columns[0][:-1], out=changed[1:])
        for column in columns[1:]:
            changed[1:] |= column[1:] != column[:-1]
    return changed
