"""Reader of Parquet and Feather files."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from titer.data.readers.base import Batch, Source, encode
from titer.data.readers.rejections import Rejections
from titer.errors import DataError

BATCH_ROWS = 1 << 20
DAMAGE = (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError, KeyError)
"""What Arrow raises for damaged files, such as names that are not UTF-8 and sizes that cannot be."""


class ArrowFile(Source):
    """A Parquet or Feather file. Rows are numbered from 1."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.is_parquet = path.suffix.lower() == ".parquet"

    @cached_property
    def _file(self) -> pq.ParquetFile | pa.RecordBatchFileReader:
        if self.is_parquet:
            return pq.ParquetFile(self.path)
        # Not memory-mapped: a file of someone else may be cut while it is read, which would end the process.
        return pa.ipc.open_file(pa.OSFile(str(self.path)))

    def _read_columns(self) -> list[str]:
        try:
            file = self._file
            return file.schema_arrow.names if isinstance(file, pq.ParquetFile) else file.schema.names
        except DAMAGE as error:
            kind = "Parquet" if self.is_parquet else "Feather"
            raise DataError(f"{self.name}: not a readable {kind} file: {_line(error)}") from error

    def _record_batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        file = self._file
        if isinstance(file, pq.ParquetFile):
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=wanted)
        else:
            for index in range(file.num_record_batches):
                batch = file.get_batch(index).select(wanted)
                # Offsets that point outside of the file would crash, or show memory of this process as names.
                batch.validate(full=True)
                yield batch

    def head(self, num_rows: int) -> dict[str, list[str]]:
        """Return the first values of all columns; those that are neither text, numbers nor dates are left out."""
        columns: dict[str, list[str]] = {}
        for name in self.columns():
            values: list[str] = []
            try:
                for batch in self._record_batches([name]):
                    rest = self._encode(batch.slice(0, num_rows - len(values)), name)
                    values += [value.decode("utf-8", "replace") for value in rest.to_pylist()]
                    if len(values) >= num_rows:
                        break
            except DataError:
                continue
            except DAMAGE as error:
                raise DataError(f"{self.name}: {_line(error)}") from error
            columns[name] = values
        if len({len(values) for values in columns.values()}) > 1:
            raise DataError(f"{self.name}: the file is damaged: its columns have different numbers of rows")
        return columns

    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Yield the row groups of the file."""
        seen = 0
        try:
            for batch in self._record_batches(wanted):
                columns = {name: self._encode(batch, name) for name in wanted}
                rows = np.arange(seen + 1, seen + 1 + batch.num_rows, dtype=np.int64)
                seen += batch.num_rows
                yield Batch(columns, rows)
        except DAMAGE as error:
            raise DataError(f"{self.name}: {_line(error)}") from error

    def _encode(self, batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
        try:
            return encode(_as_text(batch.column(name)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            if self.keeps_all:
                return encode(pa.array([str(value) for value in batch.column(name).to_pylist()]))
            raise DataError(f"{self.name}, column {name!r}: {error}") from error


class ArrowTable(ArrowFile):
    """A table in memory; ``name`` replaces the file name in error messages."""

    def __init__(self, name: str, table: pa.Table):
        super().__init__(Path(name))
        self.table = table

    def _read_columns(self) -> list[str]:
        return self.table.column_names

    def _record_batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(wanted).to_batches(max_chunksize=BATCH_ROWS)


def _as_text(column: pa.Array) -> pa.Array:
    """Decode dictionaries, and write timestamps as ISO dates with the hour in UTC."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        if column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.timestamp(column.type.unit))
        column = pc.call_function("strftime", [column], pc.StrftimeOptions("%Y-%m-%dT%H:00"))
    return column


def _line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
