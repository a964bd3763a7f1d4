"""Read named facts from tables: open, find the columns, encode the values, and put the facts on one time axis."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.readers.base import Batch, Source
from titer.data.readers.encoders import (
    AttributeEncoder,
    Encoder,
    NameEncoder,
    RelationEncoder,
    TimeEncoder,
    WeightEncoder,
)
from titer.data.readers.expansion import TooManyFactsError, expand, in_use, pick
from titer.data.readers.expression import Expression, find_column
from titer.data.readers.formats import choose_columns, file_format, open_format, with_date_format, with_defaults
from titer.data.readers.graphs import GRAPHS, GraphFile
from titer.data.readers.inputs import InputFile
from titer.data.readers.json_lines import Records
from titer.data.readers.merging import MergedName, spellings
from titer.data.readers.options import INTERVAL, NAMES, PARTS, POINT, TableOptions
from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.sources import open_source
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.progress import track

__all__ = ["Table", "TableOptions", "TableReader", "read_records", "read_tables"]


class MissingColumnsError(DataError):
    """A table lacks columns for parts of a fact."""


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
    lasting: bool = False
    """Whether rows were intervals."""
    num_rows: int = 0
    """Number of rows with facts."""
    merged: list[MergedName] = field(default_factory=list)
    """Names with several spellings: those that were merged, or that could be."""
    options: TableOptions = field(default_factory=TableOptions)
    """How the files were read, with the column of every part of a fact."""
    attributes: dict[str, tuple[NDArray[np.int32], list[str]]] = field(default_factory=dict)
    """For each attribute the value of each fact, and the text of the values."""


def read_tables(
    files: Sequence[Path | InputFile],
    options: TableOptions,
    rejections: Rejections,
    continued: Dataset | None = None,
    max_facts: int | None = None,
) -> Table:
    """Read facts from one or more files with the same columns.

    Facts that continue a dataset use its time axis, and only its relations are accepted. More than ``max_facts`` facts
    that intervals expand to are an error.
    """
    reader = TableReader(options, rejections, continued)
    reader.read([file if isinstance(file, InputFile) else InputFile(file, str(file)) for file in files])
    return reader.table(max_facts)


def read_records(records: list[dict[str, Any]], name: str, rejections: Rejections, continued: Dataset) -> Table:
    """Read facts that continue a dataset from objects in memory; error messages call them ``name``."""
    reader = TableReader(TableOptions(), rejections, continued)
    reader.take(Records(name, records))
    return reader.table()


class TableReader:
    """Collects encoded rows from tables, then puts them on one time axis."""

    def __init__(self, options: TableOptions, rejections: Rejections, continued: Dataset | None = None):
        self.format = file_format(options.format) if options.format else None
        if self.format is not None:
            options = with_defaults(options, self.format)
        self.options = options if continued is None else replace(options, unit=None)
        self.axis = continued.axis if continued is not None else None
        self.rejections = rejections
        self.missing = frozenset(word.encode() for word in options.missing)
        self.entities = NameEncoder()
        self.relations = RelationEncoder(continued.vocabulary.relations) if continued is not None else NameEncoder()
        self.known: Vocabulary | None = continued.vocabulary if continued is not None else None
        if self.known is not None and options.merge_names:
            # Names of new facts are compared with the known ones.
            self.entities.names.update((name, i) for i, name in enumerate(self.known.entities))
            self.relations = RelationEncoder(self.known.relations, merge_names=True)
        self.resolved = options
        self.attributes = {name: AttributeEncoder() for name in options.attributes}
        self.times = TimeEncoder()
        self.timed: tuple[str, ...] = ()
        self.parts: tuple[str, ...] = ()
        self.chunks: list[NDArray[np.int32]] = []
        self.rows: list[NDArray[np.int64]] = []
        self.sources: list[str] = []

    def read(self, files: Sequence[InputFile]) -> None:
        """Read all rows of some files."""
        nodes: dict[str, str] = {}
        openers = {file.name: partial(self._open, file, nodes) for file in files}
        self.rejections.sources.update(openers)
        try:
            sources = [opener() for opener in openers.values()]
            # The names of all nodes must be known before the first edge is read.
            sources = [each for each in sources if not isinstance(each, GraphFile) or each.collect_nodes()]
            for source in sources:
                self.take(source)
        except OSError as error:
            raise DataError(f"{', '.join(openers)}: cannot be read: {error}") from error

    def _open(self, file: InputFile, nodes: dict[str, str]) -> Source:
        options = self.options
        if options.format in GRAPHS:
            graph = GRAPHS[options.format](file.path, nodes)
            graph.name = file.name
            return graph
        if options.format is not None:
            return open_format(options.format, file, options)
        return open_source(
            file.path, names=options.names, delimiter=options.delimiter, encoding=options.encoding, name=file.name
        )

    def take(self, source: Source) -> None:
        """Read all rows of a table."""
        self.sources.append(source.name)
        expressions = self._find_columns(source)
        wanted = list(dict.fromkeys(name for each in expressions.values() for name in each.columns))
        for batch in track(source.batches(wanted, self.rejections), f"reading {Path(source.name).name}"):
            self.rejections.num_rows += len(batch.rows)
            parts = {
                part: expression.evaluate(batch.columns, len(batch.rows), self.missing)
                for part, expression in expressions.items()
            }
            self._take(Batch(parts, batch.rows), source.name)

    def _find_columns(self, source: Source) -> dict[str, Expression]:
        """Return what each part of a fact is made of, and each attribute."""
        present = source.columns()
        if self.format is not None:
            self.options = choose_columns(self.options, self.format, present)
            if self.format.detects_dates:
                self.options = with_date_format(self.options, source)
        by_folded = {name.casefold(): name for name in reversed(present)}
        options, faults = self.options, list[str]()

        def expression(part: str) -> Expression | None:
            if part in options.constants:
                return Expression.constant(options.constants[part])
            text = options.columns.get(part, by_folded.get(part))
            return None if text is None else Expression.parse(text, present)

        given = {*options.columns, *options.constants}
        has_time = "time" in given or "time" in by_folded
        lasting = bool(given & set(INTERVAL)) or any(part in by_folded for part in INTERVAL)
        if set(INTERVAL) <= given and "time" not in given:
            has_time = False
        self._start(source, INTERVAL if lasting and not has_time else POINT, weighted="weight" in given)
        found: dict[str, Expression] = {}
        for part in self.parts:
            try:
                each = expression(part)
            except DataError as error:
                faults.append(f"{error}" + " (or 'start' and 'end')" * (part in POINT))
                continue
            if each is None:
                faults.append(f"no column {part!r}" + " (or 'start' and 'end')" * (part in POINT))
            else:
                found[part] = each
        for name in options.attributes:
            column = find_column(name, present)
            if column is None:
                faults.append(f"no column {name!r}")
            else:
                found[f"attribute {name}"] = Expression.parse(column, present)
        if faults:
            part = next((part for part in self.parts if part not in found), "subject")
            raise MissingColumnsError(
                f"{source.name}, row 1: {', '.join(faults)}; the file has {', '.join(present)}\n"
                f"(--column {part}=NAME sets the column, --constant {part}=WORD a value for all rows; "
                "--names is for files without a header row)"
            )
        columns = {part: options.columns.get(part, by_folded.get(part, part)) for part in self.parts}
        columns = {part: column for part, column in columns.items() if part not in options.constants}
        self.resolved = replace(options, columns=columns)
        return found

    def _start(self, source: Source, timed: tuple[str, ...], *, weighted: bool) -> None:
        """Decide with the first table whether facts have a time or last."""
        if self.timed and self.timed != timed:
            before, here = (" and ".join(map(repr, parts)) for parts in (self.timed, timed))
            raise DataError(f"{source.name}: the time is in {here}, but in {before} in the files before")
        if not self.timed:
            self.timed = timed
            self.parts = (*NAMES, *timed, *(["weight"] if weighted else []))
            options = self.options
            self.times = TimeEncoder(
                options.unit,
                options.date_format,
                open_ends=timed == INTERVAL,
                axis=self.axis,
                pivot_year=options.pivot_year,
            )
            self.encoders: dict[str, Encoder] = {
                "relation": self.relations,
                "weight": WeightEncoder(),
                **dict.fromkeys(timed, self.times),
                **{f"attribute {name}": encoder for name, encoder in self.attributes.items()},
            }

    def _take(self, batch: Batch, name: str) -> None:
        codes = {part: self._encoder(part).encode(column) for part, column in batch.columns.items()}
        bad = np.zeros(len(batch.rows), dtype=bool)
        problems: list[Problem] = []
        for part, code in codes.items():
            for position in np.flatnonzero((code < 0) & ~bad):
                reason = self._encoder(part).reason(int(code[position]))
                problems.append(_problem(name, batch, int(position), part, reason))
            bad |= code < 0
        if "end" in codes:
            for position in np.flatnonzero(~bad & self._ends_before_start(codes["start"], codes["end"])):
                problems.append(_problem(name, batch, int(position), "end", "the end is before the start"))
                bad[position] = True
        self.rejections.add(problems)
        self.chunks.append(np.stack([code[~bad].astype(np.int32) for code in codes.values()]))
        if self.axis is not None:
            self.rows.append(batch.rows[~bad])

    def _encoder(self, part: str) -> Encoder:
        return self.encoders.get(part, self.entities)

    def _ends_before_start(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.bool_]:
        known = (start > TimeEncoder.OPEN) & (end > TimeEncoder.OPEN)
        first, last = np.array(self.times.first), np.array(self.times.last)
        return known & (last[end] < first[start])

    def table(self, max_facts: int | None = None) -> Table:
        """Return all facts on one time axis, with ids only for the names in use.

        Raises:
            DataError: If rows were rejected that are not to be skipped, or there are no facts.
        """
        self.rejections.check()
        rows = np.concatenate(self.chunks, axis=1) if self.chunks else np.empty((5, 0), dtype=np.int32)
        self.chunks = []
        if rows.shape[1] == 0:
            why = "\n".join(["every row was rejected:", *self.rejections.summary()]) if self.rejections else "no rows"
            raise DataError(f"{', '.join(self.sources)}: no facts were read: {why}")
        num_rows = rows.shape[1]
        by_part = dict(zip((*self.parts, *self.attributes), rows, strict=False))
        merged = self._merge(by_part)
        axis, first, last = self._put_on_axis(np.stack([by_part[part] for part in self.timed]))
        weight = by_part["weight"].astype(np.int64) if "weight" in by_part else None
        try:
            expanded = expand(first, last, weight, max_facts if self.options.unit is None else None)
        except TooManyFactsError as error:
            raise DataError(
                f"{error}; --unit month or --unit year makes longer steps and fewer facts, "
                f"--unit {axis.unit} keeps these"
            ) from None
        if len(expanded.time) == 0:
            raise DataError("no facts between the earliest and the latest date to keep")
        order = np.argsort(expanded.time, kind="stable")
        subject, relation, object = (pick(by_part[part], expanded.rows)[order] for part in NAMES)
        (subject, object), entities = in_use(list(self.entities.names), subject, object)
        (relation,), relations = in_use(list(self.relations.names), relation)
        source_row = pick(np.concatenate(self.rows), expanded.rows)[order] if self.rows else None
        return Table(
            Facts(subject, relation, object, expanded.time[order]),
            Vocabulary(entities, relations),
            axis,
            expanded.num_outside,
            source_row,
            lasting=self.timed == INTERVAL,
            num_rows=num_rows,
            merged=merged,
            options=self.resolved,
            attributes={
                name: (pick(by_part[name], expanded.rows)[order], list(encoder.names))
                for name, encoder in self.attributes.items()
            },
        )

    def _merge(self, by_part: dict[str, NDArray[np.int32]]) -> list[MergedName]:
        """Join the spellings of names if that is wanted, and return those that were joined or could be."""
        merged: list[MergedName] = []
        for encoder, parts in ((self.entities, ("subject", "object")), (self.relations, ("relation",))):
            if self.axis is not None and encoder is self.relations:
                continue  # the relations of a dataset are fixed
            names = list(encoder.names)
            counts = sum(np.bincount(by_part[part], minlength=len(names)) for part in parts)
            fixed = self.known.num_entities if self.known is not None and self.options.merge_names else 0
            target, found = spellings(names, np.asarray(counts), fixed)
            merged += found
            if self.options.merge_names:
                for part in parts:
                    by_part[part] = target[by_part[part]]
        return merged

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
            axis.step(self.options.date(bound)) if bound is not None else known
            for bound, known in (
                (self.options.earliest, int(first[used].min())),
                (self.options.latest, int(last[used].max())),
            )
        ]
        first[TimeEncoder.OPEN], last[TimeEncoder.OPEN] = bounds
        start, end = (times[0], times[-1])
        if self.timed == POINT:  # a date more precise than the unit is still one time step
            last = first
        return axis, np.maximum(first[start], bounds[0]), np.minimum(last[end], bounds[1])

    def _choose_axis(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> TimeAxis:
        if self.axis is not None:
            return self.axis
        unit = self.times.unit or TimeUnit.INTEGER
        if unit is TimeUnit.INTEGER:
            return TimeAxis.of_integers(first, spread=self.timed == POINT)
        hours = first.astype("datetime64[h]")
        if unit is TimeUnit.HOUR and not self.times.unit_is_given and np.all(hours == hours.astype("datetime64[D]")):
            unit = TimeUnit.DAY  # midnight everywhere means that there are no times of day
        origin = hours.min()
        if self.options.earliest is not None:
            earliest = TimeAxis(unit, self.options.date(self.options.earliest))
            origin = np.datetime64(str(earliest.origin)).astype("datetime64[h]")
        return TimeAxis.starting_at(unit, origin)


def _problem(name: str, batch: Batch, position: int, part: str, reason: str) -> Problem:
    fields = ",".join(batch.value(column, position) for column in batch.columns if column in PARTS)
    return Problem(name, int(batch.rows[position]), part, reason, fields)


def _steps(axis: TimeAxis, times: NDArray[np.int64]) -> NDArray[np.int64]:
    if axis.unit is TimeUnit.INTEGER:
        return (times - int(axis.origin)) // axis.stride
    return axis.steps_of_hours(times.astype("datetime64[h]"))
