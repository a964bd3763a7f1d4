"""Many answers into a file."""

import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from titer.errors import TiterError
from titer.files import atomic_path
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.tables import SCHEMA, record_batches

Write = Callable[[pa.RecordBatch], None]
EVIDENCE = SCHEMA.get_field_index("evidence")
CSV_SCHEMA = SCHEMA.set(EVIDENCE, pa.field("evidence", pa.string()))


def check_can_write(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a format that nobody knows, and a place that is taken."""
    if path.suffix.lower() not in WRITERS:
        raise TiterError(f"{path}: cannot tell the format from {path.suffix!r}; known are {', '.join(WRITERS)}")
    if path.is_dir():
        raise TiterError(f"{path} is a folder")
    if path.exists() and not overwrite:
        raise TiterError(f"{path} already exists; choose another place or pass --overwrite")


def write_answers(results: Iterable[Forecast | Unanswered], path: Path, *, overwrite: bool = False) -> None:
    """Write results as they come, a row for every answer; the file appears when all of them are there.

    CSV, JSON lines and Parquet, by the file's ending. In CSV, which has no lists, evidence is JSON text.
    """
    check_can_write(path, overwrite=overwrite)
    with atomic_path(path) as temporary, WRITERS[path.suffix.lower()](temporary) as write:
        for batch in record_batches(results):
            write(batch)


@contextmanager
def _parquet(path: Path) -> Generator[Write]:
    with pq.ParquetWriter(path, SCHEMA) as writer:
        yield writer.write_batch


@contextmanager
def _csv(path: Path) -> Generator[Write]:
    with pacsv.CSVWriter(str(path), CSV_SCHEMA) as writer:
        yield lambda batch: writer.write_batch(_flat(batch))


@contextmanager
def _json_lines(path: Path) -> Generator[Write]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda batch: file.writelines(
            json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in batch.to_pylist()
        )


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same with evidence as text."""
    evidence = batch.column(EVIDENCE).to_pylist()
    text = [json.dumps(item, ensure_ascii=False) if item else None for item in evidence]
    columns = [*batch.columns]
    columns[EVIDENCE] = pa.array(text, pa.string())
    return pa.RecordBatch.from_arrays(columns, schema=CSV_SCHEMA)


WRITERS = {".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
