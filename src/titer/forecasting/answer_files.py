"""Files of answers."""

import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from titer.errors import TiterError
from titer.files import atomic_path
from titer.files.cells import safe_column
from titer.forecasting.forecast import Forecast, Unanswered
from titer.forecasting.tables import SCHEMA, record_batches
from titer.suggestions import hint

Write = Callable[[pa.RecordBatch], None]
EVIDENCE = SCHEMA.get_field_index("evidence")
CSV_SCHEMA = SCHEMA.set(EVIDENCE, pa.field("evidence", pa.string()))


def check_can_write(path: Path, *, overwrite: bool = False) -> None:
    """Raise an error if the format of a file is unknown, or if the file exists and may not be overwritten."""
    if path.suffix.lower() not in WRITERS:
        raise TiterError(f"{path}: unknown format {path.suffix!r}{hint(path.suffix, list(WRITERS))}")
    if path.is_dir():
        raise TiterError(f"{path} is a directory")
    if path.exists() and not overwrite:
        raise TiterError(f"{path} already exists; choose another path or pass --overwrite")


def write_answers(
    results: Iterable[Forecast | Unanswered], path: Path, *, overwrite: bool = False, raw_csv: bool = False
) -> None:
    """Write results to a file while they arrive, one row for every answer. The file appears when all are written.

    Args:
        results: Forecasts, and questions that could not be answered.
        path: The file. Its suffix selects the format: ``.csv``, ``.jsonl``, ``.ndjson`` or ``.parquet``. In CSV, which
            has no lists, evidence is JSON text.
        overwrite: Whether to replace an existing file.
        raw_csv: Whether names in CSV files stay as they are. By default, an apostrophe is put before those that a
            spreadsheet would run as formulas.

    Raises:
        TiterError: The format is unknown, or the file exists.
    """
    check_can_write(path, overwrite=overwrite)
    is_safe = raw_csv or path.suffix.lower() != ".csv"
    with atomic_path(path) as temporary, WRITERS[path.suffix.lower()](temporary) as write:
        for batch in record_batches(results):
            write(batch if is_safe else _safe(batch))


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


def _safe(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([safe_column(column) for column in batch.columns], schema=batch.schema)


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with its evidence as JSON text."""
    evidence = batch.column(EVIDENCE).to_pylist()
    text = [json.dumps(item, ensure_ascii=False) if item else None for item in evidence]
    columns = [*batch.columns]
    columns[EVIDENCE] = pa.array(text, pa.string())
    return pa.RecordBatch.from_arrays(columns, schema=CSV_SCHEMA)


WRITERS = {".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
