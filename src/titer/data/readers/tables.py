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
from titer.data.readers.formats import choose_columns, file_format, open_format, with_date_format, with_defaults
from titer.data.readers.graphs import GRAPHS, GraphFile
from titer.data.readers.inputs import InputFile
from titer.data.readers.json_lines import Records
from titer.data.readers.merging import MergedName, spellings
from titer.data.readers.options import INTERVAL, NAMES, PARTS, TableOptions
from titer.data.readers.part_columns import ATTRIBUTE, MissingColumnsError, PartColumns, find_parts
from titer.data.readers.placing import put_on_axis
from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.sources import open_source
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.progress import track

__all__ = ["MissingColumnsError", "Table", "TableOptions", "TableReader", "read_records", "read_tables"]


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
    num_far_ends: int = 0
    """Number of ends that count as open because they are far in the future."""


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
        found = self._find_parts(source)
        for batch in track(source.batches(found.wanted, self.rejections), f"reading {Path(source.name).name}"):
            self.rejections.num_rows += len(batch.rows)
            parts = {
                part: expression.evaluate(batch.columns, len(batch.rows), self.missing)
                for part, expression in found.expressions.items()
            }
            self._take(Batch(parts, batch.rows), source.name)

    def _find_parts(self, source: Source) -> PartColumns:
        if self.format is not None:
            self.options = choose_columns(self.options, self.format, source.columns())
            if self.format.detects_dates:
                self.options = with_date_format(self.options, source)
        found = find_parts(source, self.options)
        if self.timed and self.timed != found.timed:
            before, here = (" and ".join(map(repr, parts)) for parts in (self.timed, found.timed))
            raise DataError(f"{source.name}: the time is in {here}, but in {before} in the files before")
        if not self.timed:
            self._start(found)
        return found

    def _start(self, found: PartColumns) -> None:
        """Decide with the first table whether facts have a time or last."""
        self.timed, self.parts, options = found.timed, tuple(found.expressions), found.options
        self.resolved = options
        self.times = TimeEncoder(
            options.unit,
            options.date_format,
            open_ends=self.lasting,
            axis=self.axis,
            pivot_year=options.pivot_year,
        )
        self.encoders: dict[str, Encoder] = {
            "relation": self.relations,
            "weight": WeightEncoder(),
            **dict.fromkeys(found.timed, self.times),
            **{f"{ATTRIBUTE}{name}": encoder for name, encoder in self.attributes.items()},
        }

    @property
    def lasting(self) -> bool:
        """Whether rows are intervals."""
        return self.timed == INTERVAL

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
        by_part = dict(zip(self.parts, rows, strict=True))
        merged = self._merge(by_part)
        times = np.stack([by_part[part] for part in self.timed])
        placed = put_on_axis(times, self.times, self.options, lasting=self.lasting)
        axis = placed.axis
        weight = by_part["weight"].astype(np.int64) if "weight" in by_part else None
        try:
            expanded = expand(placed.first, placed.last, weight, max_facts if self.options.unit is None else None)
        except TooManyFactsError as error:
            if self.axis is not None:
                raise DataError(f"{error}; --latest DATE ends them earlier") from None
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
            lasting=self.lasting,
            num_rows=num_rows,
            merged=merged,
            options=self.resolved,
            attributes={
                name: (pick(by_part[f"{ATTRIBUTE}{name}"], expanded.rows)[order], list(encoder.names))
                for name, encoder in self.attributes.items()
            },
            num_far_ends=placed.num_far_ends,
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


def _problem(name: str, batch: Batch, position: int, part: str, reason: str) -> Problem:
    fields = ",".join(batch.value(column, position) for column in batch.columns if column in PARTS)
    return Problem(name, int(batch.rows[position]), part, reason, fields)
