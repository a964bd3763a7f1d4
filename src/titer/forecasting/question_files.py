"""Files of questions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from titer.data.facts import COLUMNS
from titer.data.readers.arrow import DAMAGE, ArrowFile, ArrowTable
from titer.data.readers.base import Batch, Source
from titer.data.readers.expression import find_column
from titer.data.readers.options import TableOptions
from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.sources import open_source
from titer.errors import DataError
from titer.forecasting.forecast import Unanswered
from titer.forecasting.question import Question

QUESTION_ROWS = pa.schema([("row", pa.int64()), *((name, pa.string()) for name in (*COLUMNS, "problem"))])
"""The columns of a table of questions; ``problem`` says why a row cannot be read."""
OWN = "own"
"""The column of a table of questions with the other columns of the file, as a structure."""
BATCH_ROWS = 1 << 16
BLOCK_BYTES = 1 << 20


class QuestionFile:
    """A CSV, JSON-lines, Parquet or Feather file of questions.

    The file has a column ``relation``, a column ``subject`` or ``object`` or both, and optionally ``time``. What a
    question asks for is empty or ``?``. A question without a time is about the step after the last known fact.

    Args:
        questions: The file, or a table in memory.
        mapping: How the dataset was imported: columns with those names and dates in that format are understood too.
        name: What messages call the file; by default its path.
        constants: Columns with the same value in all rows, such as those in the folder names of a partitioned dataset.
        options: How this file is written, where that is neither the standard form nor that of the dataset's files.

    Attributes:
        own: The other columns of the file. Those of Parquet and Feather files have their types; others are text.

    Raises:
        DataError: The file does not exist, has an unknown format, or lacks a column.
    """

    def __init__(
        self,
        questions: Path | pa.Table,
        mapping: TableOptions | None = None,
        name: str | None = None,
        constants: Mapping[str, str] | None = None,
        options: TableOptions | None = None,
    ):
        options = options or TableOptions()
        self._mapping = mapping = _combined(mapping or TableOptions(), options)
        self._given = options.columns
        self._source = _open(questions, name, options)
        self._constants = dict(constants or {})
        try:
            self._columns = self._find_columns()
        except DataError:
            is_known = options.delimiter or options.encoding or not (mapping.delimiter or mapping.encoding)
            if isinstance(questions, pa.Table) or is_known:
                raise
            self._source = open_source(questions, delimiter=mapping.delimiter, encoding=mapping.encoding, name=name)
            self._columns = self._find_columns()
        used = set(self._columns.values())
        types = _types(self._source)
        names = [column for column in self._all_columns() if column not in used]
        self.own = pa.schema([(name, types.get(name, pa.string())) for name in names])
        self._source.text_columns = frozenset(names)

    @property
    def name(self) -> str:
        """What messages call the file."""
        return self._source.name

    def tables(self) -> Iterator[pa.Table]:
        """Yield the questions in the order of the file: ``QUESTION_ROWS``, and ``own`` if there are other columns.

        Raises:
            DataError: The file is damaged.
        """
        rejections = Rejections(skip=True)
        for batch, typed in self._batches(rejections):
            unreadable, rejections.held = sorted(rejections.held), []
            yield self._table(batch, typed, unreadable)
        if rest := [*rejections.held, *rejections.problems]:
            yield self._unreadable(rest)

    def _all_columns(self) -> list[str]:
        columns = self._source.columns()
        return [*columns, *(name for name in self._constants if name not in columns)]

    def _find_columns(self) -> dict[str, str]:
        """Return the name of the column for each part of a question."""
        columns, mapping = self._all_columns(), self._mapping
        present = {name.casefold(): name for name in reversed(columns)}
        for part, column in self._given.items():
            if part not in COLUMNS:
                raise DataError(f"a question has no {part!r}; columns can be given for {', '.join(COLUMNS)}")
            if find_column(column, columns) is None:
                raise DataError(f"{self.name}: there is no column {column!r}; the file has {', '.join(columns)}")
        # Given columns come before those that are named like a part of a question.
        found = {part: present[part] for part in COLUMNS if part in present and part not in self._given}
        for part in (part for part in COLUMNS if part not in found):
            if column := find_column(mapping.columns.get(part, part), columns):
                found[part] = column
        if not {"relation"} & {*found, *mapping.constants} or not {"subject", "object"} & set(found):
            raise DataError(
                f"{self._source.name}: questions need a column 'relation' and a column 'subject' or 'object'; "
                f"the file has {', '.join(columns)}"
            )
        return found

    def _batches(self, rejections: Rejections) -> Iterator[tuple[Batch, pa.Table | None]]:
        """Yield batches as text, and beside those of Arrow files the same rows with their types."""
        source = self._source
        present = source.columns()
        if not isinstance(source, ArrowFile):
            yield from ((batch, None) for batch in source.batches(present, rejections))
            return
        parts, seen = [name for name in self._columns.values() if name in present], 0
        for whole in _typed_tables(source):
            for start in range(0, whole.num_rows, BATCH_ROWS):
                typed = whole.slice(start, BATCH_ROWS).combine_chunks()
                (batch,) = ArrowTable(source.name, typed).batches(parts, rejections)
                yield Batch(batch.columns, np.arange(seen + 1, seen + 1 + typed.num_rows)), typed
                seen += typed.num_rows

    def _table(self, batch: Batch, typed: pa.Table | None, unreadable: list[Problem]) -> pa.Table:
        """Return the questions of a batch and the rows between them that cannot be read."""
        size = len(batch.rows)
        nothing = pa.nulls(size, pa.string())
        parts = {part: self._part(batch, part) for part in COLUMNS if part in self._columns}
        if "relation" not in parts:
            parts["relation"] = pa.repeat(pa.scalar(self._mapping.constants["relation"]), size)
        arrays = [pa.array(batch.rows), *(parts.get(part, nothing) for part in COLUMNS), nothing]
        table = pa.Table.from_arrays(arrays, schema=QUESTION_ROWS)
        if len(self.own):
            own = [
                typed.column(field.name).combine_chunks().cast(field.type)
                if typed is not None and field.name in typed.column_names
                else self._text(batch, field.name)
                for field in self.own
            ]
            table = table.append_column(OWN, pa.StructArray.from_arrays(own, fields=list(self.own)))
        if not unreadable:
            return table
        return pa.concat_tables([table, self._unreadable(unreadable)]).sort_by("row")

    def _part(self, batch: Batch, part: str) -> pa.Array:
        """Return the values of one part of the questions; each distinct value is converted once."""
        column = self._columns[part]
        if column not in batch.columns:
            return self._text(batch, column)
        encoded = batch.columns[column]
        values = [_asked(value) for value in encoded.dictionary.to_pylist()]
        if part == "time":
            values = [None if value is None else self._mapping.date(value) for value in values]
        return pa.array(values, pa.string()).take(encoded.indices)

    def _text(self, batch: Batch, column: str) -> pa.Array:
        if column not in batch.columns:
            return pa.repeat(pa.scalar(self._constants[column]), len(batch.rows))
        encoded = batch.columns[column]
        values = [value.decode("utf-8", "replace") or None for value in encoded.dictionary.to_pylist()]
        return pa.array(values, pa.string()).take(encoded.indices)

    def _unreadable(self, problems: list[Problem]) -> pa.Table:
        rows = [
            {"row": found.row, "problem": f"row {found.row}: {found.reason}: {found.text}"}
            for found in sorted(problems)
        ]
        table = pa.Table.from_pylist(rows, QUESTION_ROWS)
        own = pa.nulls(len(rows), pa.struct(list(self.own)))
        return table.append_column(OWN, own) if len(self.own) else table


def read_questions(
    path: Path, mapping: TableOptions | None = None, options: TableOptions | None = None
) -> Iterator[Question | Unanswered]:
    """Read questions from a file.

    Args:
        path: The file, as for ``QuestionFile``.
        mapping: How the dataset was imported.
        options: How this file is written, as for ``QuestionFile``.

    Returns:
        An iterator over the questions in the order of the file. A row that cannot be read yields an ``Unanswered``.

    Raises:
        DataError: The file does not exist, has an unknown format, or lacks a column.
    """
    file = QuestionFile(path, mapping, options=options)
    return (question for table in file.tables() for question in questions_of(table))


def questions_of(table: pa.Table) -> Iterator[Question | Unanswered]:
    """Yield the questions of a table, and ``Unanswered`` for rows that cannot be read.

    Args:
        table: A table with the columns of ``QUESTION_ROWS``.
    """
    columns = (table.column(name).to_pylist() for name in (*COLUMNS, "problem"))
    for subject, relation, object, time, problem in zip(*columns, strict=True):
        if problem is not None:
            yield Unanswered.because(Question(None, ""), DataError(problem))
        else:
            yield Question(subject, relation or "", object, time)


def count_rows(path: Path) -> int:
    """Return approximately how many questions a file has, for a progress bar."""
    if isinstance(open_source(path), ArrowFile) and path.suffix.lower() == ".parquet":
        return pq.read_metadata(path).num_rows
    with pa.input_stream(str(path), compression="detect") as stream:
        count = 0
        while block := stream.read(BLOCK_BYTES):
            count += block.count(b"\n")
        return count


def _open(questions: Path | pa.Table, name: str | None, options: TableOptions) -> Source:
    if isinstance(questions, pa.Table):
        return ArrowTable(name or "the table of questions", questions)
    return open_source(
        questions, names=options.names, delimiter=options.delimiter, encoding=options.encoding, name=name
    )


def _combined(mapping: TableOptions, options: TableOptions) -> TableOptions:
    """Return the options of a file; those that are not given are the ones of the dataset."""
    columns = {part: name for part, name in mapping.columns.items() if part not in options.constants}
    constants = {part: value for part, value in mapping.constants.items() if part not in options.columns}
    return replace(
        mapping,
        columns={**columns, **options.columns},
        constants={**constants, **options.constants},
        date_format=options.date_format or mapping.date_format,
    )


def _types(source: Source) -> dict[str, pa.DataType]:
    """Return the types of the columns of Arrow data; dictionaries and other forms of text become plain."""
    if not isinstance(source, ArrowFile):
        return {}
    if isinstance(source, ArrowTable):
        schema = source.table.schema
    elif source.is_parquet:
        schema = pq.read_schema(source.path)
    else:
        with pa.ipc.open_file(pa.OSFile(str(source.path))) as file:
            schema = file.schema
    types = {field.name: field.type for field in schema}
    types = {name: type.value_type if pa.types.is_dictionary(type) else type for name, type in types.items()}
    texts = (pa.types.is_large_string, pa.types.is_string_view)
    return {name: pa.string() if any(is_text(type) for is_text in texts) else type for name, type in types.items()}


def _typed_tables(source: ArrowFile) -> Iterator[pa.Table]:
    """Yield the rows of Arrow data with the types of their columns."""
    try:
        if isinstance(source, ArrowTable):
            yield source.table.combine_chunks()
        elif source.is_parquet:
            with pq.ParquetFile(source.path) as file:
                yield from (pa.Table.from_batches([batch]) for batch in file.iter_batches(batch_size=BATCH_ROWS))
        else:
            with pa.ipc.open_file(pa.OSFile(str(source.path))) as file:
                for index in range(file.num_record_batches):
                    batch = file.get_batch(index)
                    # Offsets that point outside of the file would crash, or show memory of this process as names.
                    batch.validate(full=True)
                    yield pa.Table.from_batches([batch])
    except DAMAGE as error:
        raise DataError(f"{source.name}: {(str(error).splitlines() or [type(error).__name__])[0]}") from error


def _asked(value: bytes) -> str | None:
    text = value.decode("utf-8", "replace").strip()
    return None if text in ("", "?") else text
