"""The columns of a pair index, computed for some subjects at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from titer.graph.decayed_counts import count_events
from titer.graph.parallel import in_order
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS, entity_ranges
from titer.graph.sorting import changes, sorted_rows

if TYPE_CHECKING:
    from titer.graph.history import History

PIECE = 1 << 16
"""Directed edges that are indexed at once: temporary arrays have about this length, and fit into the cache."""
Columns = dict[str, NDArray[Any]]
ROWS = {
    "series": ("series_relation", "series_object"),
    "event": ("series_key", "series_number", "series_counts"),
    "pair": ("pair_key",),
    "pair event": ("by_relation", "event_by_relation", "again", "object_by_relation"),
    "answer event": ("answers_key", "answers_number", "answers_counts"),
    "active step": ("activity_key", "activity_number", "activity_counts"),
}
"""All columns of a piece, by what a row is. In each, rows of a later subject follow those of an earlier one."""
COLUMNS = tuple(name for names in ROWS.values() for name in names)
NUMBERS = {"series_key": "series", "by_relation": "pair", "answers_key": "pair", "event_by_relation": "event"}
"""Columns that contain numbers of rows: those of keys before the time."""
MAX_INT32 = (1 << 31) - 1
NEVER_AGAIN = {np.dtype(np.int32): MAX_INT32, np.dtype(np.int64): LAST_STEP}
"""Time in ``again`` of a fact that does not occur again, by the type of the column."""


@dataclass(frozen=True)
class Sizes:
    """The numbers that the keys of a pair index depend on."""

    num_entities: int
    num_relations: int
    """Directed relations."""
    num_steps: int

    @property
    def again_type(self) -> np.dtype:
        """The type of ``again``: elapsed times nearly always fit into 32 bits."""
        return np.dtype(np.int32 if self.num_steps <= MAX_INT32 else np.int64)


def pieces(history: "History") -> tuple[int, Iterator[tuple[NDArray[np.int64], Columns]]]:
    """Return the number of pieces, and each piece: the number of series of each of its subjects, and its columns."""
    sizes = sizes_of(history)
    offsets = history.offsets.cpu().numpy()
    key, relation, object = (column.cpu().numpy() for column in (history.key, history.relation, history.object))

    def piece(first: int, end: int) -> tuple[NDArray[np.int64], Columns]:
        rows = slice(offsets[first], offsets[end])
        subject, elapsed = (key[rows] >> TIME_BITS) - first, key[rows] & LAST_STEP
        columns = piece_of(subject, relation[rows], object[rows], elapsed, end - first, sizes)
        columns["activity_key"] = columns["activity_key"] + (first << TIME_BITS)
        columns["pair_key"] = columns["pair_key"] + first * sizes.num_relations
        return columns.pop("num_series"), columns

    calls: list[Callable[[], tuple[NDArray[np.int64], Columns]]] = [
        (lambda first=first, end=end: piece(first, end)) for first, end in entity_ranges(offsets, PIECE)
    ]
    return len(calls), in_order(calls)


def sizes_of(history: "History") -> Sizes:
    """Return the sizes of a history."""
    vocabulary = history.vocabulary
    return Sizes(vocabulary.num_entities, vocabulary.num_directed_relations, history.num_steps)


def piece_of(
    subject: NDArray[np.integer],
    relation: NDArray[np.integer],
    object: NDArray[np.integer],
    elapsed: NDArray[np.integer],
    num_subjects: int,
    sizes: Sizes,
) -> Columns:
    """Return the columns of all edges of some subjects, numbered from 0; numbers of rows are within the piece.

    The answers of a relation have no piece of their own: since every fact has both directions, the facts with answer o
    to r are those of subject o with the inverse of r. The same holds for the activity of an entity.
    """
    # A repeated fact is one event: all counts here are of facts, not of rows of the data.
    counts = (num_subjects, sizes.num_entities, sizes.num_relations, sizes.num_steps)
    subject, object, relation, elapsed = sorted_rows((subject, object, relation, elapsed), counts)
    new_series = changes(subject, object, relation)
    kept = new_series | changes(elapsed)
    subject, object, relation, elapsed = (column[kept] for column in (subject, object, relation, elapsed))
    new_series = new_series[kept]
    num_events = len(subject)
    series = np.cumsum(new_series) - 1
    key = (series << TIME_BITS) | elapsed
    number, decayed = count_events(key, np.ones(num_events, dtype=np.int64))
    again = np.full(num_events, NEVER_AGAIN[sizes.again_type], dtype=sizes.again_type)
    again[:-1] = np.where(new_series[1:], again[:-1], elapsed[1:])
    columns: Columns = {
        "num_series": np.bincount(subject[new_series], minlength=num_subjects),
        "series_relation": relation[new_series].astype(np.int32),
        "series_object": object[new_series].astype(np.int32),
        "series_key": key,
        "series_number": number,
        "series_counts": decayed,
    }

    # Facts by subject, relation and time.
    counts = (num_subjects, sizes.num_relations, sizes.num_steps, num_events)
    subject, relation, elapsed, event = sorted_rows((subject, relation, elapsed, np.arange(num_events)), counts)
    new_pair = changes(subject, relation)
    pair = np.cumsum(new_pair) - 1
    by_relation = (pair << TIME_BITS) | elapsed
    columns |= {
        "pair_key": subject[new_pair] * sizes.num_relations + relation[new_pair],
        "by_relation": by_relation,
        "event_by_relation": event.astype(np.int32),
        "again": again[event],
        "object_by_relation": object[event].astype(np.int32),
        **_counted("answers", by_relation),
    }

    subject, elapsed = sorted_rows((subject, elapsed), (num_subjects, sizes.num_steps))
    return columns | _counted("activity", (subject << TIME_BITS) | elapsed)


def _counted(name: str, key: NDArray[np.int64]) -> Columns:
    """Return the decayed counts of events by sorted key."""
    first = np.flatnonzero(changes(key))
    distinct, repeats = key[first], np.diff(first, append=len(key))
    number, counts = count_events(distinct, repeats)
    return {f"{name}_key": distinct, f"{name}_number": number, f"{name}_counts": counts}
