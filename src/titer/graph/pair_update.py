"""Updating the columns of a pair index where facts have changed."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from titer.graph.pair_columns import by_relation
from titer.graph.pair_pieces import NEVER_AGAIN, NUMBERS, ROWS, piece_of, sizes_of
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

if TYPE_CHECKING:
    from titer.graph.history import History

TIMED = ("series_key", "by_relation", "answers_key", "activity_key")
"""Columns of keys that end in the elapsed time."""


class Segment(NamedTuple):
    """Rows that are copied: ``source[start:end]`` to a place in the result."""

    is_new: bool
    start: int
    end: int
    place: int


def updated_columns(old: dict[str, Tensor], first_time: int, history: "History", changed: Tensor) -> dict[str, Tensor]:
    """Return the columns of a history: those of changed entities computed, and all others copied.

    Args:
        old: The columns before the change.
        first_time: The first time of the history before the change.
        history: The history after the change, on the same device, with the same relations.
        changed: The entities whose edges may differ, in ascending order. Shape ``(entities,)``.

    Returns:
        Columns equal to those of ``built_columns``, on the device of the history.
    """
    num_relations = sizes_of(history).num_relations
    old_counts = old["first_series"].diff()
    old_counts = torch.cat([old_counts, old_counts.new_zeros(history.vocabulary.num_entities - len(old_counts))])
    new = _piece(history, changed)
    num_series = old_counts.index_copy(0, changed, new["num_series"])

    starts = _starts(old, torch.cat([changed, changed + 1]), _first(old_counts), num_relations)
    subjects = torch.arange(len(changed) + 1, device=changed.device)
    new_starts = _starts(new, subjects, _first(new["num_series"]), num_relations)
    segments = {
        row: _segments(starts[row].view(2, -1), new_starts[row], len(old[names[0]])) for row, names in ROWS.items()
    }

    # Subjects of the piece are numbered within it.
    moved = changed - subjects[:-1]
    new["activity_key"] += moved[new["activity_key"] >> TIME_BITS] << TIME_BITS
    new["pair_key"] += moved[new["pair_key"] // num_relations] * num_relations
    later = first_time - history.first_time
    columns = {"first_series": _first(num_series)}
    for row, names in ROWS.items():
        for name in names:
            columns[name] = _joined(name, old[name], new[name], segments, row, later)
    ordered = by_relation(columns["pair_key"].cpu().numpy(), num_relations)
    return columns | {name: torch.from_numpy(column).to(history.device) for name, column in ordered.items()}


def _first(counts: Tensor) -> Tensor:
    """Return where the rows of each subject begin, and where the last end, from their numbers."""
    return torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0)])


def _piece(history: "History", changed: Tensor) -> dict[str, Tensor]:
    """Return the columns of the changed entities, numbered from 0."""
    row, edge = spread(history.offsets[changed], history.offsets[changed + 1])
    edges = (row, history.relation[edge], history.object[edge], history.key[edge] & LAST_STEP)
    subject, relation, object, elapsed = (column.cpu().numpy() for column in edges)
    columns = piece_of(subject, relation, object, elapsed, len(changed), sizes_of(history))
    return {name: torch.from_numpy(column).to(history.device) for name, column in columns.items()}


def _starts(columns: dict[str, Tensor], subject: Tensor, first_series: Tensor, num_relations: int) -> dict[str, Tensor]:
    """Return the first row of each subject in the columns of each kind of row. (subjects,) each"""
    series = first_series[subject]
    pair = torch.searchsorted(columns["pair_key"], subject * num_relations)
    return {
        "series": series,
        "event": torch.searchsorted(columns["series_key"], series << TIME_BITS),
        "pair": pair,
        "pair event": torch.searchsorted(columns["by_relation"], pair << TIME_BITS),
        "answer event": torch.searchsorted(columns["answers_key"], pair << TIME_BITS),
        "active step": torch.searchsorted(columns["activity_key"], subject << TIME_BITS),
    }


def _segments(old: Tensor, new: Tensor, num_old: int) -> list[Segment]:
    """Return what to copy, in order: alternately the rows between changed subjects, and those of a changed one."""
    starts, ends = old.tolist()
    firsts = new.tolist()
    found, place = [], 0
    for i, (start, end) in enumerate(zip([0, *ends], [*starts, num_old], strict=True)):
        found.append(Segment(False, start, end, place))
        place += end - start
        if i < len(starts):
            found.append(Segment(True, firsts[i], firsts[i + 1], place))
            place += firsts[i + 1] - firsts[i]
    return found


def _joined(name: str, old: Tensor, new: Tensor, segments: dict[str, list[Segment]], row: str, later: int) -> Tensor:
    """Return a column with the old and the new rows, with the numbers and the times that they have now."""
    last = segments[row][-1]
    column = torch.empty((last.place + last.end - last.start, *old.shape[1:]), dtype=old.dtype, device=old.device)
    bits = TIME_BITS if name in TIMED else 0
    for i, (is_new, start, end, place) in enumerate(segments[row]):
        if start == end:
            continue
        part = column[place : place + end - start]
        part.copy_((new if is_new else old)[start:end])
        if name in NUMBERS:
            numbered = segments[NUMBERS[name]][i]
            part += (numbered.place - numbered.start) << bits
        if later and not is_new:
            if name in TIMED:
                part += later
            elif name == "again":
                part += later * (part != NEVER_AGAIN[part.numpy(force=True).dtype])
    return column
