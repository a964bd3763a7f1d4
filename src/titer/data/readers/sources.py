"""Tables on disk as batches of columns, each value still the bytes that were written.

Every column comes dictionary-encoded, so that whatever reads names, numbers or dates out of it looks at each
distinct value once and not at ten million rows. Rows keep the number they have in their file.
"""

import codecs
import csv
import io
import json
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from titer.data.readers.rejections import Problem, Rejections
from titer.errors import DataError

ENCODED = pa.dictionary(pa.int32(), pa.binary())
BLOCK_BYTES = 1 << 25
JSON_ROWS = 50_000
JSON_ROWS_FOR_COLUMNS = 1000


@dataclass(frozen=True)
class Batch:
    """Some rows of a table: the wanted columns, and where in the file each row stands."""

    columns: dict[str, pa.DictionaryArray]
    rows: NDArray[np.int64]

    def text(self, position: int) -> str:
        """One row as it might have been written, for a message."""
        values = (column[position].as_py() or b"" for column in self.columns.values())
        return ",".join(value.decode("utf-8", "replace") for value in values)


class Source(ABC):
    """A file with named columns."""

    def __init__(self, path: Path):
        self.path = path

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of all columns."""

    @abstractmethod
    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """The wanted columns, some rows at a time; blank rows, and rows without columns, go to ``rejections``."""

    def _distinct(self, columns: list[str]) -> list[str]:
        if repeated := [name for name, count in Counter(columns).items() if count > 1]:
            raise DataError(f"{self.path}, row 1: column {repeated[0]!r} appears twice")
        return columns


class DelimitedFile(Source):
    """CSV, TSV and their kin. A file without a header row gets its column names from ``names``."""

    def __init__(self, path: Path, delimiter: str, names: list[str] | None = None, encoding: str = "utf-8"):
        super().__init__(path)
        self.delimiter = delimiter
        self.names = names
        if len(delimiter) != 1:
            raise DataError(f"a delimiter is one character, not {delimiter!r}")
        try:
            self.encoding = codecs.lookup(encoding).name
        except LookupError:
            raise DataError(f"there is no encoding {encoding!r}") from None

    @property
    def columns(self) -> list[str]:
        """From ``names`` or from the first row."""
        header = self.names or [name.strip() for name in next(iter(self._first_records(1)), [])]
        if not any(header):
            raise DataError(f"{self.path}, row 1: empty, where the names of the columns should be")
        if any("\ufffd" in name or "\0" in name for name in header):
            raise DataError(f"{self.path}, row 1: not {self.encoding} text (--encoding names another encoding)")
        return self._distinct(header)

    @property
    def width(self) -> int:
        """How many columns most of the first rows have."""
        counts = Counter(len(record) for record in self._first_records(100) if record)
        if not counts:
            raise DataError(f"{self.path}: the file is empty")
        return counts.most_common(1)[0][0]

    def _first_records(self, count: int) -> list[list[str]]:
        try:
            return list(islice(self._records(), count))
        except csv.Error as error:
            raise DataError(f"{self.path}: cannot be read as a table: {error}") from error

    def _records(self, *more: str) -> Iterator[list[str]]:
        """All records as Python reads them, and after the last line as many more as given."""
        with pa.input_stream(str(self.path), compression="detect") as stream:
            # Records are for people to read: what is not in the encoding shows up as such in the message.
            encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
            text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")
            yield from csv.reader(chain(text, more), delimiter=self.delimiter)

    def _is_sound(self) -> bool:
        """Whether the file is UTF-8 throughout, if it should be.

        A quotation mark that is never closed is refused: it takes all that follows into one field, and Arrow accepts
        that in the last column.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        sound, num_quotes, block = True, 0, b"\n"
        with pa.input_stream(str(self.path), compression="detect") as stream:
            while block:
                block = stream.read(BLOCK_BYTES)
                num_quotes += block.count(b'"')
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError:
                    sound = False
        if num_quotes % 2:
            self._check_quotes()
        return sound or self.encoding != "utf-8"

    def _check_quotes(self) -> None:
        end, last, row = "end of the file", [], 0
        try:
            for record in self._records(end):
                last, row = record, row + 1
        except csv.Error:  # a field that is longer than any name
            row += 1
        if last != [end]:
            raise DataError(f"{self.path}, row {row}: a quotation mark is opened and never closed")

    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Rows in blocks of some megabytes; a row with too few or too many columns is a problem."""
        columns = self.columns
        malformed: list[Problem] = []
        # Arrow cannot hand over a malformed row that is not UTF-8. In Latin-1 every byte stands for itself.
        bytewise = not self._is_sound()

        def set_aside(row: pacsv.InvalidRow) -> str:
            text = str(row.text)
            text = text.encode("latin-1").decode("utf-8", "replace") if bytewise else text
            reason = wrong_width(row.actual_columns, row.expected_columns)
            malformed.append(Problem(str(self.path), row.number, "", reason, text))
            return "skip"

        first_row = 1 if self.names else 2
        try:
            reader = pacsv.open_csv(
                str(self.path),
                # One thread: only then does Arrow know the number of a malformed row.
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
                    invalid_row_handler=set_aside,
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
                # Rows that were set aside are counted again, so that the others keep their number in the file.
                numbers = np.array([problem.row for problem in malformed], dtype=np.int64)
                gaps = numbers - first_row - np.arange(len(malformed))
                position = seen + np.arange(batch.num_rows, dtype=np.int64)
                rows = position + first_row + np.searchsorted(gaps, position, side="right")
                # Arrow reads ahead: what it set aside after the last row of this batch waits for the next.
                due = int(np.searchsorted(numbers, rows[-1])) if len(rows) else reported
                rejections.hold(malformed[reported:due])
                seen, reported = seen + batch.num_rows, due
                filled = ~_blank_rows(batch)
                rejections.num_blank += batch.num_rows - int(filled.sum())
                kept = batch.filter(pa.array(filled)).columns
                yield Batch(dict(zip(wanted, map(_as_bytes, kept) if bytewise else kept, strict=True)), rows[filled])
            rejections.add(malformed[reported:])
        except (pa.ArrowInvalid, UnicodeError, OSError) as error:
            raise DataError(f"{self.path}: cannot be read as {self.encoding} text: {error}") from error


def wrong_width(actual: int, expected: int) -> str:
    """What is wrong with a row that has too few or too many columns."""
    return f"{actual} column{'' if actual == 1 else 's'} instead of {expected}"


def _as_bytes(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The bytes that were read as Latin-1."""
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


class ArrowFile(Source):
    """Parquet and Feather."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.is_parquet = path.suffix.lower() == ".parquet"

    @property
    def columns(self) -> list[str]:
        """From the file's schema."""
        try:
            names = pq.read_schema(self.path).names if self.is_parquet else self._feather().schema.names
        except (pa.ArrowInvalid, OSError) as error:
            kind = "Parquet" if self.is_parquet else "Feather"
            raise DataError(f"{self.path}: not a readable {kind} file: {error}") from error
        return self._distinct(names)

    def _feather(self) -> pa.RecordBatchFileReader:
        return pa.ipc.open_file(pa.memory_map(str(self.path)))

    def _record_batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        if self.is_parquet:
            yield from pq.ParquetFile(self.path).iter_batches(batch_size=1 << 20, columns=wanted)
        else:
            file = self._feather()
            for index in range(file.num_record_batches):
                yield file.get_batch(index).select(wanted)

    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Row groups as they are stored."""
        seen = 0
        try:
            for batch in self._record_batches(wanted):
                columns = {name: self._column(batch, name) for name in wanted}
                rows = np.arange(seen + 1, seen + 1 + batch.num_rows, dtype=np.int64)
                seen += batch.num_rows
                yield Batch(columns, rows)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.path}: {error}") from error

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
        try:
            return _encode(batch.column(name))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"{self.path}, column {name!r}: {error}") from error


def _encode(column: pa.Array) -> pa.DictionaryArray:
    """Any column as bytes, dictionary-encoded; a missing value becomes an empty one."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        if column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit, "UTC")).cast(pa.timestamp(column.type.unit))
        column = pc.call_function("strftime", [column], pc.StrftimeOptions("%Y-%m-%dT%H:00"))
    if not pa.types.is_binary(column.type):
        column = column.cast(pa.string()).cast(pa.binary())
    return column.fill_null(b"").dictionary_encode()


class JsonLines(Source):
    """One JSON object a line."""

    @property
    def columns(self) -> list[str]:
        """The keys of the first objects; what is unknown is often left out of one."""
        records = list(islice(self._records(Rejections()), JSON_ROWS_FOR_COLUMNS))
        keys = [key for record, _, _ in records if record is not None for key in record]
        if not keys:
            raise DataError(str(records[0][2]) if records else f"{self.path}: the file is empty")
        return list(dict.fromkeys(keys))

    def _records(self, rejections: Rejections) -> Iterator[tuple[dict[str, Any] | None, int, str | Problem]]:
        with pa.input_stream(str(self.path), compression="detect") as stream:
            for number, line in enumerate(io.BufferedReader(stream), start=1):
                if not line.strip():
                    rejections.num_blank += 1
                    continue
                text = line.decode("utf-8", "replace").strip()
                record, reason = _parse_object(line)
                yield record, number, text if record is not None else Problem(str(self.path), number, "", reason, text)

    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Lines, some thousands at a time; a line that is no JSON object is a problem."""
        records = self._records(rejections)
        while chunk := list(islice(records, JSON_ROWS)):
            rejections.hold([problem for _, _, problem in chunk if isinstance(problem, Problem)])
            rejections.hold(self._odd_values(chunk, wanted))
            good = [
                (record, number)
                for record, number, _ in chunk
                if record is not None and all(_is_plain(record.get(name)) for name in wanted)
            ]
            columns = {name: _encode(pa.array([_bytes(r.get(name)) for r, _ in good], pa.binary())) for name in wanted}
            yield Batch(columns, np.array([number for _, number in good], dtype=np.int64))

    def _odd_values(self, chunk: list[Any], wanted: list[str]) -> list[Problem]:
        """Rows where a name or a time is a list, an object or a truth value."""
        problems = []
        for record, number, text in chunk:
            odd = [name for name in wanted if record is not None and not _is_plain(record.get(name))]
            if odd:
                problems.append(Problem(str(self.path), number, odd[0], "neither text nor a number", text))
        return problems


class Records(JsonLines):
    """Objects that are in memory already; the first is row 1."""

    def __init__(self, name: str, records: list[dict[str, Any]]):
        super().__init__(Path(name))
        self.records = records

    def _records(self, rejections: Rejections) -> Iterator[tuple[dict[str, Any] | None, int, str | Problem]]:
        for number, record in enumerate(self.records, start=1):
            yield record, number, ",".join(map(str, record.values()))


def _is_plain(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _parse_object(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of a line, or ``None`` and the reason."""
    try:
        value = json.loads(line)
    except UnicodeDecodeError:
        return None, "not UTF-8 text"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {error}"
    return (value, "") if isinstance(value, dict) else (None, "not a JSON object")


def _bytes(value: object) -> bytes:
    if value is None:
        return b""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")  # half a character is no UTF-8, and is refused as such


def open_source(
    path: Path, *, names: list[str] | None = None, delimiter: str | None = None, encoding: str = "utf-8"
) -> Source:
    """Choose the reader by the file's ending (a further ``.gz``, ``.bz2`` or ``.zst`` is undone)."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty")
    plain = path.with_suffix("") if path.suffix in (".gz", ".bz2", ".zst") else path
    match plain.suffix.lower():
        case ".parquet" | ".feather" | ".arrow":
            return ArrowFile(path)
        case ".jsonl" | ".ndjson" | ".json":
            return JsonLines(path)
        case ".tsv" | ".txt" | ".tab":
            return DelimitedFile(path, delimiter or "\t", names, encoding)
        case ".csv":
            return DelimitedFile(path, delimiter or ",", names, encoding)
        case suffix:
            if delimiter:
                return DelimitedFile(path, delimiter, names, encoding)
            known = ".csv, .tsv, .txt, .parquet, .feather, .jsonl"
            raise DataError(
                f"{path}: cannot tell the format from {suffix!r} (known: {known}); --delimiter reads it as text"
            )
