"""Names that differ only in capitalisation and spaces."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class MergedName:
    """Several spellings of one name."""

    kept: str
    """The most frequent spelling."""
    others: tuple[str, ...]
    """The other spellings."""

    def __str__(self) -> str:
        return f"{', '.join(map(repr, self.others))} as {self.kept!r}"


def folded(name: str) -> str:
    """Return a name without capitalisation and without repeated or outer spaces."""
    return " ".join(name.casefold().split())


def spellings(
    names: Sequence[str], counts: NDArray[np.int64], fixed: int = 0
) -> tuple[NDArray[np.int32], list[MergedName]]:
    """Find names with several spellings.

    Args:
        names: All names.
        counts: How often each name appears. (names,)
        fixed: The number of names at the beginning that are known already, and kept as they are.

    Returns:
        For each name the position of the spelling to use, and the names that have several spellings.
    """
    target = np.arange(len(names), dtype=np.int32)
    merged: list[MergedName] = []
    for positions in _same(names):
        # Known names stay; otherwise the most frequent spelling wins, of equals the first one.
        kept = min(positions, key=lambda i: (i >= fixed, -int(counts[i]), i))
        others = [i for i in positions if i != kept and i >= fixed and counts[i]]
        target[others] = kept
        if others:
            merged.append(MergedName(names[kept], tuple(names[i] for i in others)))
    return target, merged


def _same(names: Sequence[str]) -> list[list[int]]:
    """Return the positions of names with several spellings. One number per name is kept in memory."""
    hashes = np.fromiter((hash(folded(name)) for name in names), np.int64, len(names))
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    repeated = np.isin(hashes, hashes[first[counts > 1]])
    groups: dict[str, list[int]] = defaultdict(list)
    for position in np.flatnonzero(repeated).tolist():
        groups[folded(names[position])].append(position)
    return [positions for positions in groups.values() if len(positions) > 1]
