"""Many questions from a file."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from titer.data.readers.arrow import ArrowFile
from titer.data.readers.base import Batch, Source
from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.sources import open_source
from titer.errors import DataError
from titer.forecasting.forecast import Unanswered
from titer.forecasting.question import Question

COLUMNS = ("subject", "relation", "object", "time")
BLOCK_BYTES = 1 << 20


def read_questions(path: Path) -> Iterator[Question | Unanswered]:
    """The questions of a CSV, JSON-lines, Parquet or Feather file, in order, some at a time.

    It has the columns ``relation``, ``subject`` or ``object`` or both, and perhaps ``time``. What is asked for is
    empty or ``?``; a question without a time is about the step after the last known fact. A row that cannot be read
    comes as unanswered.
    """
    source = open_source(path)
    return _questions(source, _columns(source))


def count_rows(path: Path) -> int:
    """About how many questions a file has, for those who wait."""
    if isinstance(open_source(path), ArrowFile) and path.suffix.lower() == ".parquet":
        return pq.read_metadata(path).num_rows
    with pa.input_stream(str(path), compression="detect") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(BLOCK_BYTES), b""))


def _columns(source: Source) -> dict[str, str]:
    """Which column of the file holds what."""
    present = {name.casefold(): name for name in reversed(source.columns())}
    found = {part: present[part] for part in COLUMNS if part in present}
    if "relation" not in found or not {"subject", "object"} & set(found):
        raise DataError(
            f"{source.path}: questions need a column 'relation' and a column 'subject' or 'object'; "
            f"the file has {', '.join(source.columns())}"
        )
    return found


def _questions(source: Source, columns: dict[str, str]) -> Iterator[Question | Unanswered]:
    rejections = Rejections(skip=True)
    for batch in source.batches(list(columns.values()), rejections):
        unreadable, rejections.held = sorted(rejections.held), []
        questions = _of_batch(batch, columns)
        for row in batch.rows.tolist():
            while unreadable and unreadable[0].row < row:
                yield _unreadable(unreadable.pop(0))
            yield next(questions)
        yield from map(_unreadable, unreadable)
    yield from map(_unreadable, [*rejections.held, *rejections.problems])


def _of_batch(batch: Batch, columns: dict[str, str]) -> Iterator[Question]:
    """The questions of some rows; each distinct value is decoded once."""
    parts = {}
    for part, name in columns.items():
        column = batch.columns[name]
        values = [_text(value) for value in column.dictionary.to_pylist()]
        parts[part] = [values[index] for index in column.indices.to_pylist()]
    nothing = [None] * len(batch.rows)
    for subject, relation, object, time in zip(*(parts.get(part, nothing) for part in COLUMNS), strict=True):
        yield Question(subject, relation or "", object, time)


def _text(value: bytes) -> str | None:
    text = value.decode("utf-8", "replace").strip()
    return None if text in ("", "?") else text


def _unreadable(problem: Problem) -> Unanswered:
    return Unanswered(Question(None, ""), DataError(f"row {problem.row}: {problem.reason}: {problem.text}"))
