"""Readers of JSON objects: one per line of a file, a list in a file, or a list in memory."""

import codecs
import io
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from titer.data.readers.base import Batch, Source, encode
from titer.data.readers.json_array import array_items
from titer.data.readers.rejections import Problem, Rejections
from titer.errors import DataError

BATCH_ROWS = 50_000
MAX_LINE = 1 << 24
ROWS_FOR_COLUMNS = 1000


@dataclass(frozen=True)
class JsonRow:
    """One line: its object, or ``None`` with the reason; a blank line has neither."""

    number: int
    text: str
    record: dict[str, Any] | None
    reason: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether the line is empty."""
        return self.record is None and not self.reason


class JsonLines(Source):
    """A file with one JSON object per line."""

    @cached_property
    def _rows(self) -> Iterator[JsonRow]:
        return self._read_rows()

    @cached_property
    def _first_rows(self) -> list[JsonRow]:
        """The rows up to the last one that column names are taken from."""
        first: list[JsonRow] = []
        num_filled = 0
        while num_filled < ROWS_FOR_COLUMNS and (row := next(self._rows, None)) is not None:
            first.append(row)
            num_filled += not row.is_blank
        return first

    def _read_rows(self) -> Iterator[JsonRow]:
        with pa.input_stream(str(self.path), compression="detect") as stream:
            lines = io.BufferedReader(stream)
            if lines.peek(1024).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
                yield from self._read_array(lines)
                return
            for number in count(1):
                line = lines.readline(MAX_LINE + 1)
                if not line:
                    return
                if len(line) > MAX_LINE:
                    raise DataError(f"{self.name}, row {number}: the line is longer than {MAX_LINE:,} bytes")
                text = line.decode("utf-8", "replace").strip()
                yield JsonRow(number, text, *(_parse_object(line) if line.strip() else (None, "")))

    def _read_array(self, stream: io.BufferedReader) -> Iterator[JsonRow]:
        """Read the objects of one list, of which only a part is in memory."""
        try:
            for number, value in enumerate(array_items(stream), start=1):
                is_object = isinstance(value, dict)
                text = json.dumps(value, ensure_ascii=False)
                yield JsonRow(number, text, value if is_object else None, "" if is_object else "not a JSON object")
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.name}: not JSON: {error}") from error

    def _read_columns(self) -> list[str]:
        # Many rows, since unknown values are often left out of an object.
        filled = [row for row in self._first_rows if not row.is_blank]
        keys = [key for row in filled if row.record is not None for key in row.record]
        if not keys:
            raise DataError(str(self._problem(filled[0])) if filled else f"{self.name}: the file is empty")
        return list(dict.fromkeys(keys))

    def head(self, num_rows: int) -> dict[str, list[str]]:
        """Return the first values of all columns; values that are neither text nor numbers are left out."""
        records = [row.record for row in self._first_rows if row.record is not None][:num_rows]
        return {
            name: [_bytes(value).decode("utf-8", "replace") if _is_plain(value := r.get(name)) else "" for r in records]
            for name in self.columns()
        }

    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Yield some thousands of lines at a time; a line that is not a JSON object is rejected."""
        rows = chain(self._first_rows, self._rows)
        while chunk := list(islice(rows, BATCH_ROWS)):
            rejections.num_blank += sum(row.is_blank for row in chunk)
            rejections.hold([self._problem(row) for row in chunk if row.reason])
            good: list[tuple[dict[str, Any], int]] = []
            for row in chunk:
                if row.record is None:
                    continue
                checked = (name for name in wanted if name not in self.text_columns)
                invalid = next((name for name in checked if not _is_plain(row.record.get(name))), None)
                if invalid is None or self.keeps_all:
                    good.append((row.record, row.number))
                else:
                    reason = "neither text nor a number"
                    rejections.hold([Problem(self.name, row.number, invalid, reason, row.text)])
            columns = {name: encode(pa.array([_bytes(r.get(name)) for r, _ in good], pa.binary())) for name in wanted}
            yield Batch(columns, np.array([number for _, number in good], dtype=np.int64))

    def _problem(self, row: JsonRow) -> Problem:
        return Problem(self.name, row.number, "", row.reason, row.text)


class Records(JsonLines):
    """Objects in memory; the first is row 1, and ``name`` replaces the file name in error messages."""

    def __init__(self, name: str, records: list[dict[str, Any]]):
        super().__init__(Path(name))
        self.records = records

    def _read_rows(self) -> Iterator[JsonRow]:
        for number, record in enumerate(self.records, start=1):
            yield JsonRow(number, ",".join(map(str, record.values())), record)


def _parse_object(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the JSON object of a line, or ``None`` and the reason why there is none."""
    try:
        value = json.loads(line)
    except UnicodeDecodeError:
        return None, "not UTF-8 text"
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {error}"
    return (value, "") if isinstance(value, dict) else (None, "not a JSON object")


def _is_plain(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))


def _bytes(value: object) -> bytes:
    if value is None:
        return b""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate is not UTF-8, so it is rejected later
