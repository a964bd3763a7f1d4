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
    write_batches(record_batches(results), SCHEMA, path, overwrite=overwrite, raw_csv=raw_csv)


def write_batches(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path, *, overwrite: bool = False, raw_csv: bool = False
) -> None:
    """Write rows to a file while they arrive. The file appears when all are written.

    Args:
        batches: The rows.
        schema: Their columns.
        path: The file, as for ``write_answers``.
        overwrite: Whether to replace an existing file.
        raw_csv: As for ``write_answers``.

    Raises:
        TiterError: The format is unknown, or the file exists.
    """
    check_can_write(path, overwrite=overwrite)
    with atomic_path(path) as temporary:
        write_file(batches, schema, temporary, path.suffix.lower(), raw_csv=raw_csv)


def write_file(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path, suffix: str, *, raw_csv: bool = False
) -> None:
    """Write rows to a file in the format of a suffix; not atomically.

    Args:
        batches: The rows.
        schema: Their columns.
        path: The file.
        suffix: One of ``WRITERS``.
        raw_csv: As for ``write_answers``.
    """
    is_safe = raw_csv or suffix != ".csv"
    with WRITERS[suffix](path, schema) as write:
        for batch in batches:
            write(batch if is_safe else _safe(batch))


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Generator[Write]:
    with pq.ParquetWriter(path, schema) as writer:
        yield writer.write_batch


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Generator[Write]:
    flat = pa.schema([pa.field(field.name, pa.string() if _is_nested(field) else field.type) for field in schema])
    with pacsv.CSVWriter(str(path), flat) as writer:

        def write(batch: pa.RecordBatch) -> None:
            writer.write_batch(_flat(batch, flat))

        yield write


@contextmanager
def _json_lines(path: Path, schema: pa.Schema) -> Generator[Write]:
    with path.open("w", encoding="utf-8") as file:

        def write(batch: pa.RecordBatch) -> None:
            for row in batch.to_pylist():
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False, default=str) + "\n")

        yield write


def _safe(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([safe_column(column) for column in batch.columns], schema=batch.schema)


def _is_nested(field: pa.Field) -> bool:
    return pa.types.is_nested(field.type)


def _flat(batch: pa.RecordBatch, flat: pa.Schema) -> pa.RecordBatch:
    """Return the batch with its evidence, and other columns of lists or structures, as JSON text."""
    columns = [
        _as_json(batch.column(i)) if _is_nested(field) else batch.column(i) for i, field in enumerate(batch.schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=flat)


def _as_json(column: pa.Array) -> pa.Array:
    values = column.to_pylist()
    text = [json.dumps(value, ensure_ascii=False, default=str) if value else None for value in values]
    return pa.array(text, pa.string())


WRITERS = {".csv": _csv, ".jsonl": _json_lines, ".ndjson": _json_lines, ".parquet": _parquet}
