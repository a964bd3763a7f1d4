"""The directed edges of facts, sorted by entity and time."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from titer.data.facts import Facts
from titer.data.time_axis import MAX_STEPS
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.graph.parallel import in_order
from titer.graph.sorting import sorted_rows

# A key has the entity in its upper bits, and the time steps since the first fact in the lower ones.
TIME_BITS = MAX_STEPS.bit_length() - 1
LAST_STEP = MAX_STEPS - 1
MAX_ID = (1 << 31) - 1
"""The largest id that a column of 32 bits holds; padding has an id too."""
MIN_PIECE, MAX_PIECE = 1 << 16, 1 << 22
"""Edges that are sorted at once. In between, there is a piece for each thread; more would take longer, since finding
the edges of a piece reads all facts."""
EdgeColumns = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]


def edge_pieces(
    facts: Facts, vocabulary: Vocabulary, first_time: int
) -> tuple[NDArray[np.int64], Iterator[EdgeColumns]]:
    """Sort the directed edges of facts by entity and time; edges of one time step keep the order of the facts.

    Args:
        facts: The facts, in any order.
        vocabulary: The vocabulary that their ids belong to.
        first_time: The time that keys count from; no fact is earlier.

    Returns:
        The position of the first edge of each entity, of shape ``(num_entities + 1,)``, and the edges in pieces: keys,
        relations and objects.

    Raises:
        DataError: The vocabulary is too large, an id is not in it, or the facts span too many time steps.
    """
    _check(facts, vocabulary, first_time)
    num_entities = vocabulary.num_entities
    num_edges = np.bincount(facts.subject, minlength=num_entities) + np.bincount(facts.object, minlength=num_entities)
    offsets = np.zeros(num_entities + 1, dtype=np.int64)
    np.cumsum(num_edges, out=offsets[1:])
    num_steps = int(facts.time.max()) - first_time + 1 if len(facts) else 1

    def piece(first: int, end: int) -> EdgeColumns:
        forward, backward = _within(facts.subject, first, end), _within(facts.object, first, end)
        entity = np.concatenate([facts.subject[forward], facts.object[backward]]) - first
        elapsed = np.concatenate([facts.time[forward], facts.time[backward]]) - first_time
        # Even numbers are the edges of subjects, odd ones those of objects.
        edge = np.concatenate([2 * forward, 2 * backward + 1])
        entity, elapsed, edge = sorted_rows((entity, elapsed, edge), (end - first, num_steps, 2 * len(facts)))
        fact, is_inverse = edge >> 1, (edge & 1).astype(bool)
        relation = facts.relation[fact] + is_inverse * np.int32(vocabulary.num_relations)
        object = np.where(is_inverse, facts.subject[fact], facts.object[fact])
        return ((entity + first) << TIME_BITS) | elapsed, relation, object

    size = min(max(2 * len(facts) // torch.get_num_threads(), MIN_PIECE), MAX_PIECE)
    calls: list[Callable[[], EdgeColumns]] = [
        (lambda first=first, end=end: piece(first, end)) for first, end in entity_ranges(offsets, size)
    ]
    return offsets, in_order(calls)


def entity_ranges(offsets: NDArray[np.int64], size: int) -> list[tuple[int, int]]:
    """Divide all entities into ranges with about ``size`` edges; the edges of one entity are never divided."""
    marks = np.searchsorted(offsets, np.arange(0, offsets[-1], size), side="right") - 1
    bounds = np.unique(np.concatenate([marks, [0, len(offsets) - 1]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))


def _within(column: NDArray[np.integer], first: int, end: int) -> NDArray[np.intp]:
    """Return the rows with values in ``first .. end-1``."""
    return np.flatnonzero((column >= first) & (column < end))


def check_span(first_time: int, last_time: int) -> None:
    """Raise a ``DataError`` if elapsed times do not fit into a key."""
    if last_time - first_time > LAST_STEP:
        raise DataError(f"a history spans at most {LAST_STEP:,} time steps; use a coarser time unit")


def _check(facts: Facts, vocabulary: Vocabulary, first_time: int) -> None:
    if vocabulary.num_entities > MAX_ID or vocabulary.relation_padding > MAX_ID:
        raise DataError(
            f"a history has at most {MAX_ID:,} entities and {MAX_ID // 2 - 1:,} relations; "
            "leave out those with few facts"
        )
    if len(facts) == 0:
        return
    check_span(first_time, int(facts.time.max()))
    for column, count in (
        (facts.subject, vocabulary.num_entities),
        (facts.object, vocabulary.num_entities),
        (facts.relation, vocabulary.num_relations),
    ):
        if int(column.min()) < 0 or int(column.max()) >= count:
            raise DataError("facts have ids that are not in the vocabulary")
