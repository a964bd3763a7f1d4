"""Read named facts from CSV, TSV, Parquet, Feather and JSON lines."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.readers.base import Batch, Source
from titer.data.readers.encoders import Encoder, NameEncoder, RelationEncoder, TimeEncoder
from titer.data.readers.json_lines import Records
from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.sources import open_source
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.progress import track

NAMES = ("subject", "relation", "object")
POINT = ("time",)
INTERVAL = ("start", "end")
MAX_FACTS = 1_000_000_000


@dataclass(frozen=True)
class TableOptions:
    """The options for reading tables of named facts."""

    columns: dict[str, str] = field(default_factory=dict)
    """The column for each part of a fact (subject, relation, object, time, start, end) if its name differs."""
    names: list[str] | None = None
    """Column names of text files without a header row."""
    delimiter: str | None = None
    """What separates two fields; by default a comma for .csv, and a tab for .tsv and .txt."""
    encoding: str = "utf-8"
    """Encoding of text files."""
    unit: TimeUnit | None = None
    """Length of one time step; by default the precision of the first date."""
    date_format: str | None = None
    """Format of dates for ``strptime``, if they are not ISO dates."""
    earliest: str | None = None
    """First date to keep. Facts that last are cut there, and an unknown start is set to it."""
    latest: str | None = None
    """Last date to keep. Facts that last are cut there, and an unknown end is set to it."""


@dataclass(frozen=True)
class Table:
    """The facts that were read, with their names and time axis."""

    facts: Facts
    vocabulary: Vocabulary
    axis: TimeAxis
    num_outside: int
    """Number of rows outside the dates to keep."""
    source_row: NDArray[np.int64] | None = None
    """The row of each fact in its file; only for facts that continue a dataset. (facts,)"""


def read_tables(
    paths: list[Path], options: TableOptions, rejections: Rejections, continued: Dataset | None = None
) -> Table:
    """Read facts from one or more files with the same columns.

    Facts that continue a dataset use its time axis, and only its relations are accepted.
    """
    reader = _TableReader(options, rejections, continued)
    for path in paths:
        reader.read(path)
    return reader.table()


def read_records(records: list[dict[str, Any]], name: str, rejections: Rejections, continued: Dataset) -> Table:
    """Read facts that continue a dataset from objects in memory; error messages call them ``name``."""
    reader = _TableReader(TableOptions(), rejections, continued)
    reader.take(Records(name, records))
    return reader.table()


class _TableReader:
    """Collects encoded rows from files, then puts them on one time axis."""

    def __init__(self, options: TableOptions, rejections: Rejections, continued: Dataset | None = None):
        self.options = options
        self.axis = continued.axis if continued is not None else None
        self.rejections = rejections
        if unknown := set(options.columns) - {*NAMES, *POINT, *INTERVAL}:
            parts = ", ".join((*NAMES, *POINT, *INTERVAL))
            raise DataError(f"unknown part of a fact {sorted(unknown)[0]!r}; columns can be given for {parts}")
        self.entities = NameEncoder()
        self.relations = RelationEncoder(continued.vocabulary.relations) if continued is not None else NameEncoder()
        self.parts: tuple[str, ...] = ()
        self.times = TimeEncoder()
        self.chunks: list[NDArray[np.int32]] = []
        self.rows: list[NDArray[np.int64]] = []
        self.paths: list[Path] = []

    def read(self, path: Path) -> None:
        """Read one file."""
        options = self.options
        try:
            source = open_source(path, names=options.names, delimiter=options.delimiter, encoding=options.encoding)
            self.take(source)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error}") from error

    def take(self, source: Source) -> None:
        """Read all rows of a source."""
        path = source.path
        self.paths.append(path)
        wanted = self._find_columns(source)
        for batch in track(source.batches(list(wanted.values()), self.rejections), f"reading {path.name}"):
            self._take(Batch({part: batch.columns[column] for part, column in wanted.items()}, batch.rows), path)

    def _find_columns(self, source: Source) -> dict[str, str]:
        present = source.columns()
        by_folded = {name.casefold(): name for name in reversed(present)}

        def column(part: str) -> str | None:
            if part in self.options.columns:
                name = self.options.columns[part]
                return name if name in present else None
            return by_folded.get(part)

        lasting = any(part in self.options.columns or column(part) is not None for part in INTERVAL)
        timed = INTERVAL if lasting and "time" not in self.options.columns and column("time") is None else POINT
        if self.parts and self.parts != NAMES + timed:
            before, here = (" and ".join(map(repr, parts)) for parts in (self.parts[3:], timed))
            raise DataError(f"{source.path}: the time is in {here}, but in {before} in the files before")
        if not self.parts:
            self.parts = NAMES + timed
            open_ends = timed == INTERVAL
            self.times = TimeEncoder(self.options.unit, self.options.date_format, open_ends=open_ends, axis=self.axis)
        found = {part: column(part) for part in self.parts}
        for part, name in found.items():
            if name is None:
                looked_for = repr(self.options.columns.get(part, part)) + " (or 'start' and 'end')" * (part in POINT)
                raise DataError(
                    f"{source.path}, row 1: no column {looked_for}; the file has {', '.join(present)}\n"
                    f"(--column {part}=NAME sets the column; --names is for files without a header row)"
                )
        return {part: name for part, name in found.items() if name is not None}

    def _take(self, batch: Batch, path: Path) -> None:
        encoders: dict[str, Encoder] = {
            "relation": self.relations,
            **dict.fromkeys(self.parts[3:], self.times),
        }
        codes = {part: encoders.get(part, self.entities).encode(column) for part, column in batch.columns.items()}
        bad = np.zeros(len(batch.rows), dtype=bool)
        problems = []
        for part, code in codes.items():
            encoder = encoders.get(part, self.entities)
            for position in np.flatnonzero((code < 0) & ~bad):
                reason = encoder.reason(int(code[position]))
                problems.append(_problem(path, batch, int(position), part, reason))
            bad |= code < 0
        if "end" in codes:
            for position in np.flatnonzero(~bad & self._ends_before_start(codes["start"], codes["end"])):
                problems.append(_problem(path, batch, int(position), "end", "the end is before the start"))
                bad[position] = True
        self.rejections.add(problems)
        self.chunks.append(np.stack([codes[part][~bad].astype(np.int32) for part in self.parts]))
        if self.axis is not None:
            self.rows.append(batch.rows[~bad])

    def _ends_before_start(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.bool_]:
        known = (start > TimeEncoder.OPEN) & (end > TimeEncoder.OPEN)
        first, last = np.array(self.times.first), np.array(self.times.last)
        return known & (last[end] < first[start])

    def table(self) -> Table:
        """Return all facts on one time axis, with ids only for the names in use."""
        rows = np.concatenate(self.chunks, axis=1) if self.chunks else np.empty((5, 0), dtype=np.int32)
        self.chunks = []
        if rows.shape[1] == 0:
            why = "every row was rejected" if self.rejections else "no rows"
            raise DataError(f"{', '.join(map(str, self.paths))}: no facts were read: {why}")
        names, times = rows[:3], rows[3:]
        axis, first, last = self._put_on_axis(times)
        chosen, time, num_outside = _expand(first, last)
        if len(time) == 0:
            raise DataError("no facts between the earliest and the latest date to keep")
        subject, relation, object = (_pick(column, chosen) for column in names)
        order = np.argsort(time, kind="stable")
        (subject, object), entities = _used(list(self.entities.names), subject[order], object[order])
        (relation,), relations = _used(list(self.relations.names), relation[order])
        facts = Facts(subject, relation, object, time[order])
        source_row = _pick(np.concatenate(self.rows), chosen)[order] if self.rows else None
        return Table(facts, Vocabulary(entities, relations), axis, num_outside, source_row)

    def _put_on_axis(self, times: NDArray[np.int32]) -> tuple[TimeAxis, NDArray[np.int64], NDArray[np.int64]]:
        """Return the axis, and the first and last time step of every row."""
        used = np.unique(times)
        used = used[used > TimeEncoder.OPEN]
        if len(used) == 0:
            raise DataError("no row has a known date")
        first, last = np.array(self.times.first), np.array(self.times.last)
        axis = self._choose_axis(first[used], last[used])
        first, last = _steps(axis, first), _steps(axis, last)
        bounds = [
            axis.step(bound) if bound is not None else known
            for bound, known in (
                (self.options.earliest, int(first[used].min())),
                (self.options.latest, int(last[used].max())),
            )
        ]
        first[TimeEncoder.OPEN], last[TimeEncoder.OPEN] = bounds
        start, end = (times[0], times[-1])
        if self.parts[3:] == POINT:  # a date more precise than the unit is still one time step
            last = first
        return axis, np.maximum(first[start], bounds[0]), np.minimum(last[end], bounds[1])

    def _choose_axis(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> TimeAxis:
        if self.axis is not None:
            return self.axis
        unit = self.times.unit or TimeUnit.INTEGER
        if unit is TimeUnit.INTEGER:
            return TimeAxis.of_integers(first, spread=self.parts[3:] == POINT)
        hours = first.astype("datetime64[h]")
        if unit is TimeUnit.HOUR and not self.times.unit_is_given and np.all(hours == hours.astype("datetime64[D]")):
            unit = TimeUnit.DAY  # midnight everywhere means that there are no times of day
        origin = hours.min()
        if self.options.earliest is not None:
            origin = np.datetime64(str(TimeAxis(unit, self.options.earliest).origin)).astype("datetime64[h]")
        return TimeAxis.starting_at(unit, origin)


def _problem(path: Path, batch: Batch, position: int, part: str, reason: str) -> Problem:
    return Problem(str(path), int(batch.rows[position]), part, reason, batch.text(position))


def _steps(axis: TimeAxis, times: NDArray[np.int64]) -> NDArray[np.int64]:
    if axis.unit is TimeUnit.INTEGER:
        return (times - int(axis.origin)) // axis.stride
    return axis.steps_of_hours(times.astype("datetime64[h]"))


def _expand(
    first: NDArray[np.int64], last: NDArray[np.int64]
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], int]:
    """Make one fact per time step.

    Returns the row of each fact (``None`` if every row is one fact), its time, and the number of rows without facts.
    """
    lengths = np.maximum(last - first + 1, 0)
    if np.all(lengths == 1):
        return None, first, 0
    total = int(lengths.sum(dtype=np.float64))  # a sum of integers could overflow
    if total > MAX_FACTS:
        raise DataError(f"these rows span {total:,} time steps in total, more than {MAX_FACTS:,}; use a coarser --unit")
    rows = np.repeat(np.arange(len(first)), lengths)
    starts = np.cumsum(lengths) - lengths
    return rows, np.arange(total) - starts[rows] + first[rows], int((lengths == 0).sum())


def _pick(column: NDArray[Any], rows: NDArray[np.int64] | None) -> NDArray[Any]:
    return column if rows is None else column[rows]


def _used(names: list[str], *columns: NDArray[np.int32]) -> tuple[list[NDArray[np.int32]], list[str]]:
    """Renumber the ids so that only names in use have one; their order stays."""
    used = np.zeros(len(names), dtype=bool)
    for column in columns:
        used[column] = True
    ids = np.cumsum(used, dtype=np.int32) - 1
    return [ids[column] for column in columns], [name for name, keep in zip(names, used, strict=True) if keep]
