"""Files of questions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from titer.data.readers.arrow import ArrowFile
from titer.data.readers.base import Batch, Source
from titer.data.readers.expression import find_column
from titer.data.readers.options import TableOptions
from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.sources import open_source
from titer.errors import DataError
from titer.forecasting.forecast import Unanswered
from titer.forecasting.question import Question

COLUMNS = ("subject", "relation", "object", "time")
BLOCK_BYTES = 1 << 20


def read_questions(
    path: Path, mapping: TableOptions | None = None, options: TableOptions | None = None
) -> Iterator[Question | Unanswered]:
    """Read questions from a CSV, JSON-lines, Parquet or Feather file.

    The file has a column ``relation``, a column ``subject`` or ``object`` or both, and optionally ``time``. What a
    question asks for is empty or ``?``. A question without a time is about the step after the last known fact.

    Args:
        path: The file.
        mapping: How the dataset was imported: columns with those names and dates in that format are understood too.
        options: How this file is written, where that is neither the standard form nor that of the dataset's files.

    Returns:
        An iterator over the questions in the order of the file. A row that cannot be read yields an ``Unanswered``.

    Raises:
        DataError: The file does not exist, has an unknown format, or lacks a column.
    """
    mapping = mapping or TableOptions()
    if options is not None and options != TableOptions():
        return _described(path, mapping, options)
    source = open_source(path)
    try:
        columns = _columns(source, mapping)
    except DataError:
        if mapping.delimiter is None and mapping.encoding is None:
            raise
        source = open_source(path, delimiter=mapping.delimiter, encoding=mapping.encoding)
        columns = _columns(source, mapping)
    return _questions(source, columns, mapping)


def _described(path: Path, mapping: TableOptions, options: TableOptions) -> Iterator[Question | Unanswered]:
    """Read a file with given options; those that are not given are the ones of the dataset."""
    constants = {part: value for part, value in mapping.constants.items() if part not in options.columns}
    combined = replace(
        mapping,
        columns={**mapping.columns, **options.columns},
        constants={**constants, **options.constants},
        date_format=options.date_format or mapping.date_format,
    )
    source = open_source(path, names=options.names, delimiter=options.delimiter, encoding=options.encoding)
    present = source.columns()
    for part, column in options.columns.items():
        if part not in COLUMNS:
            raise DataError(f"a question has no {part!r}; columns can be given for {', '.join(COLUMNS)}")
        if find_column(column, present) is None:
            raise DataError(f"{path}: there is no column {column!r}; the file has {', '.join(present)}")
    return _questions(source, _columns(source, combined, given=options.columns), combined)


def count_rows(path: Path) -> int:
    """Return approximately how many questions a file has, for a progress bar."""
    if isinstance(open_source(path), ArrowFile) and path.suffix.lower() == ".parquet":
        return pq.read_metadata(path).num_rows
    with pa.input_stream(str(path), compression="detect") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(BLOCK_BYTES), b""))


def _columns(source: Source, mapping: TableOptions, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the name of the column for each part of a question; given columns come before those named like it."""
    columns = source.columns()
    present = {name.casefold(): name for name in reversed(columns)}
    found = {part: present[part] for part in COLUMNS if part in present and part not in (given or {})}
    for part in (part for part in COLUMNS if part not in found):
        if column := find_column(mapping.columns.get(part, part), columns):
            found[part] = column
    if not {"relation"} & {*found, *mapping.constants} or not {"subject", "object"} & set(found):
        raise DataError(
            f"{source.path}: questions need a column 'relation' and a column 'subject' or 'object'; "
            f"the file has {', '.join(columns)}"
        )
    return found


def _questions(source: Source, columns: dict[str, str], mapping: TableOptions) -> Iterator[Question | Unanswered]:
    rejections = Rejections(skip=True)
    for batch in source.batches(list(columns.values()), rejections):
        unreadable, rejections.held = sorted(rejections.held), []
        questions = _of_batch(batch, columns, mapping)
        for row in batch.rows.tolist():
            while unreadable and unreadable[0].row < row:
                yield _unreadable(unreadable.pop(0))
            yield next(questions)
        yield from map(_unreadable, unreadable)
    yield from map(_unreadable, [*rejections.held, *rejections.problems])


def _of_batch(batch: Batch, columns: dict[str, str], mapping: TableOptions) -> Iterator[Question]:
    """Yield the questions of a batch of rows; each distinct value is decoded once."""
    parts = {}
    for part, name in columns.items():
        column = batch.columns[name]
        values = [_text(value) for value in column.dictionary.to_pylist()]
        parts[part] = [values[index] for index in column.indices.to_pylist()]
        if part == "time":
            parts[part] = [None if value is None else mapping.date(value) for value in parts[part]]
    nothing = [None] * len(batch.rows)
    if "relation" not in parts:
        parts["relation"] = [mapping.constants["relation"]] * len(batch.rows)
    for subject, relation, object, time in zip(*(parts.get(part, nothing) for part in COLUMNS), strict=True):
        yield Question(subject, relation or "", object, time)


def _text(value: bytes) -> str | None:
    text = value.decode("utf-8", "replace").strip()
    return None if text in ("", "?") else text


def _unreadable(problem: Problem) -> Unanswered:
    return Unanswered.because(Question(None, ""), DataError(f"row {problem.row}: {problem.reason}: {problem.text}"))
