"""The columns of a pair index, joined from pieces."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from titer.errors import DataError
from titer.graph.pair_pieces import COLUMNS, Columns, pieces, sizes_of
from titer.graph.sorted_edges import TIME_BITS
from titer.graph.sorting import sorted_rows
from titer.progress import track

if TYPE_CHECKING:
    from titer.graph.history import History

MAX_EDGES = 1 << 31
"""Directed edges that positions of 32 bits can number."""
Append = Callable[[str, NDArray[Any]], None]


def append_columns(history: "History", append: Append, description: str | None = None) -> None:
    """Compute the columns of a pair index piece by piece.

    Args:
        history: The history to index.
        append: Called with the name of a column and its next rows, for every piece and column.
        description: Label of the progress bar; None for no progress bar.

    Raises:
        DataError: The history has too many facts.
    """
    if history.num_edges >= MAX_EDGES:
        raise DataError(f"pairs of at most {MAX_EDGES // 2 - 1:,} facts can be indexed; leave out older facts")
    num_series = num_events = num_pairs = 0
    append("first_series", np.zeros(1, dtype=np.int64))
    pair_keys = []
    total, found = pieces(history)
    for of_subject, columns in track(found, description, total) if description is not None else found:
        append("first_series", num_series + np.cumsum(of_subject))
        _shift(columns, num_series, num_events, num_pairs)
        for name in COLUMNS:
            append(name, columns[name])
        pair_keys.append(columns["pair_key"])
        num_series += len(columns["series_relation"])
        num_events += len(columns["series_key"])
        num_pairs += len(columns["pair_key"])
    for name, column in by_relation(np.concatenate(pair_keys), sizes_of(history).num_relations).items():
        append(name, column)


def _shift(columns: Columns, num_series: int, num_events: int, num_pairs: int) -> None:
    """Count the series, events and pairs of a piece from those of the pieces before it, in place."""
    columns["series_key"] += num_series << TIME_BITS
    columns["event_by_relation"] += num_events
    for name in ("by_relation", "answers_key"):
        columns[name] += num_pairs << TIME_BITS


def by_relation(pair_key: NDArray[np.int64], num_relations: int) -> dict[str, NDArray[np.generic]]:
    """Return all pairs (s, r) ordered by relation, and where the pairs of each relation begin."""
    number = np.arange(len(pair_key))
    relation, pair = sorted_rows((pair_key % num_relations, number), (num_relations, max(len(pair_key), 1)))
    first = np.searchsorted(relation, np.arange(num_relations + 1))
    return {"pairs_by_relation": pair.astype(np.int32), "first_of_relation": first}


def built_columns(history: "History") -> dict[str, Tensor]:
    """Return the columns of the pair index of a history, in memory.

    Args:
        history: The history to index.

    Returns:
        The columns by name, on the CPU.

    Raises:
        DataError: The history has too many facts.
    """
    parts: dict[str, list[NDArray[np.generic]]] = {}
    append_columns(history, lambda name, rows: parts.setdefault(name, []).append(rows))
    # Each list is dropped when its column is done, so that only one column is in memory twice.
    return {name: torch.from_numpy(np.concatenate(parts.pop(name))) for name in list(parts)}
