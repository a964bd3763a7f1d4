"""Reader of CSV, TSV and other delimited text files."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from titer.data.readers.base import ENCODED, Batch, Source
from titer.data.readers.rejections import Problem, Rejections, wrong_width
from titer.errors import DataError

BLOCK_BYTES = 1 << 25


class DelimitedFile(Source):
    """A delimited text file, read twice: once to check it, and once by Arrow.

    A file without a header row gets its column names from ``names``.
    """

    def __init__(self, path: Path, delimiter: str, names: list[str] | None = None, encoding: str = "utf-8"):
        super().__init__(path)
        self.delimiter = delimiter
        self.names = names
        if len(delimiter) != 1:
            raise DataError(f"the delimiter must be one character, not {delimiter!r}")
        try:
            self.encoding = codecs.lookup(encoding).name
        except LookupError:
            raise DataError(f"unknown encoding {encoding!r}") from None
        self._head: list[list[str]] = []

    @cached_property
    def _checked(self) -> "_CheckedStream":
        return _CheckedStream(self._open())

    @cached_property
    def _records(self) -> Iterator[list[str]]:
        return self._parse(self._checked)

    def _open(self) -> pa.NativeFile:
        return pa.input_stream(str(self.path), compression="detect")

    def _parse(self, stream: io.RawIOBase | pa.NativeFile, *more: str) -> Iterator[list[str]]:
        """Yield the records of a stream as Python parses them, then those of further lines."""
        # These records are shown to people, so bytes that are not in the encoding are replaced.
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        # The stubs require a `name`, which reading does not use.
        text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")  # pyright: ignore[reportArgumentType]
        yield from csv.reader(chain(text, more), delimiter=self.delimiter)

    def _first_records(self, count: int) -> list[list[str]]:
        try:
            while len(self._head) < count and (record := next(self._records, None)) is not None:
                self._head.append(record)
        except (csv.Error, OSError) as error:
            raise DataError(f"{self.name}: cannot be read as a table: {error}") from error
        except UnicodeError as error:
            raise DataError(f"{self.name}: not {self.encoding} text: {error}; --encoding sets another one") from error
        return self._head[:count]

    def _read_columns(self) -> list[str]:
        header = self.names or [name.strip() for name in next(iter(self._first_records(1)), [])]
        if any(header):
            header = [name or f"column {i}" for i, name in enumerate(header, start=1)]
        else:
            raise DataError(f"{self.name}, row 1: empty, but the first row must have the column names")
        if any("\ufffd" in name or "\0" in name for name in header):
            raise DataError(f"{self.name}, row 1: not {self.encoding} text; --encoding sets another encoding")
        return header

    def head(self, num_rows: int) -> dict[str, list[str]]:
        """Return the first values of all columns; rows with another number of fields are left out."""
        columns = self.columns()
        records = self._first_records(num_rows + 1)[0 if self.names else 1 :]
        rows = [record for record in records if len(record) == len(columns)]
        return {name: [row[i] for row in rows] for i, name in enumerate(columns)}

    def split(self, text: str) -> list[str]:
        """Split a row into its fields, however many there are."""
        return next(csv.reader([text], delimiter=self.delimiter), [])

    def width(self) -> int:
        """Return the number of columns that most of the first rows have."""
        counts = Counter(len(record) for record in self._first_records(100) if record)
        if not counts:
            raise DataError(f"{self.name}: the file is empty")
        return counts.most_common(1)[0][0]

    def _check(self) -> bool:
        """Read the whole file, and return ``False`` if it should be UTF-8 and is not.

        Arrow accepts a quotation mark that is never closed in the last column, and takes the rest of the file into
        that field. Such a file is rejected here.
        """
        self._checked.read_rest()
        if self._checked.num_quotes % 2:
            self._check_quotes()
        return self._checked.is_utf8 or self.encoding != "utf-8"

    def _check_quotes(self) -> None:
        end, last, row = "end of the file", [], 0
        try:
            with self._open() as stream:
                for record in self._parse(stream, end):
                    last, row = record, row + 1
        except csv.Error:  # the field is longer than Python allows
            row += 1
        if last != [end]:
            raise DataError(f"{self.name}, row {row}: a quotation mark is opened and never closed")

    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Yield blocks of some megabytes; a row with too few or too many columns is rejected."""
        columns = self.columns()
        malformed: list[Problem] = []
        # Arrow cannot report a malformed row that is not UTF-8, so such a file is read as Latin-1, byte by byte.
        bytewise = not self._check()

        def reject(row: pacsv.InvalidRow) -> str:
            text = str(row.text)
            text = text.encode("latin-1").decode("utf-8", "replace") if bytewise else text
            reason = wrong_width(row.actual_columns, row.expected_columns)
            malformed.append(Problem(self.name, row.number, "", reason, text))
            return "skip"

        first_row = 1 if self.names else 2
        try:
            reader = pacsv.open_csv(
                str(self.path),
                # Arrow reports the number of a malformed row only if it uses one thread.
                pacsv.ReadOptions(
                    use_threads=False,
                    block_size=BLOCK_BYTES,
                    column_names=columns,
                    skip_rows=first_row - 1,
                    encoding="latin-1" if bytewise else self.encoding,
                ),
                pacsv.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=reject,
                ),
                pacsv.ConvertOptions(
                    column_types=dict.fromkeys(wanted, ENCODED),
                    include_columns=wanted,
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
            seen = reported = 0
            while (batch := _next_batch(reader)) is not None:
                # Malformed rows count too, so that the others keep their number in the file.
                numbers = np.array([problem.row for problem in malformed], dtype=np.int64)
                gaps = numbers - first_row - np.arange(len(malformed))
                position = seen + np.arange(batch.num_rows, dtype=np.int64)
                rows = position + first_row + np.searchsorted(gaps, position, side="right")
                # Arrow reads ahead: malformed rows after the last row of this batch are held for the next.
                due = int(np.searchsorted(numbers, rows[-1])) if len(rows) else reported
                rejections.hold(malformed[reported:due])
                seen, reported = seen + batch.num_rows, due
                filled = ~_blank_rows(batch)
                rejections.num_blank += batch.num_rows - int(filled.sum())
                kept = batch.filter(pa.array(filled)).columns
                yield Batch(dict(zip(wanted, map(_as_bytes, kept) if bytewise else kept, strict=True)), rows[filled])
            rejections.hold(malformed[reported:])
            rejections.add([])
        except (pa.ArrowInvalid, UnicodeError, OSError) as error:
            raise DataError(f"{self.name}: cannot be read as {self.encoding} text: {error}") from error


class _CheckedStream(io.RawIOBase):
    """A stream that checks its bytes while they are read, so that the header and the check need one pass."""

    def __init__(self, stream: pa.NativeFile):
        self.num_quotes = 0
        self.is_utf8 = True
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        block = self._stream.read(BLOCK_BYTES if size < 0 else size)
        self.num_quotes += block.count(b'"')
        try:
            self._decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            self.is_utf8 = False
        return block

    def read_rest(self) -> None:
        """Read to the end, and close the file."""
        if not self._stream.closed:
            while self.read(BLOCK_BYTES):
                pass
            self._stream.close()


def _as_bytes(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the bytes of a column that was read as Latin-1."""
    values = [value.decode("utf-8").encode("latin-1") for value in column.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(column.indices, pa.array(values, pa.binary()))


def _next_batch(reader: pacsv.CSVStreamingReader) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None


def _blank_rows(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    blank = np.ones(batch.num_rows, dtype=bool)
    for column in batch.columns:
        empty = pc.index(column.dictionary, pa.scalar(b"", pa.binary())).as_py()
        blank &= column.indices.to_numpy(zero_copy_only=False) == empty
    return blank
