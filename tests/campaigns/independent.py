"""Read tables of facts with other libraries than titer uses: Python's csv, json, gzip and zipfile, and Polars."""

import csv
import gzip
import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

EPOCH = date(1970, 1, 1).toordinal()
PARTS = ("subject", "relation", "object", "time")
DAY = re.compile(r"(\d{1,4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ]\d.*)?")
Fact = tuple[str, str, str, str]
Rows = Iterator[tuple[int, list[Any] | None]]
"""The number of each row and its four values; None if it has no values for all four."""


def facts_of(path: Path, rejected: set[int]) -> Counter[Fact]:
    """Return how often each fact is in a file, without its blank and its rejected rows.

    Raises:
        ValueError: If the file, or one of these rows, cannot be read.
    """
    found: Counter[Fact] = Counter()
    for number, values in rows_of(path):
        if number in rejected:
            continue
        if values is None:
            raise ValueError(f"row {number} cannot be read")
        texts = [_text(value) for value in values]
        if any(texts):
            subject, relation, object, day = (text.strip() for text in texts)
            found[subject, relation, object, _day(day, number)] += 1
    return found


def rows_of(path: Path) -> Rows:
    """Iterate over the rows of a file, in the way that its name asks for."""
    content, name = path.read_bytes(), path.name
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            (name,) = archive.namelist()
            content = archive.read(name)
    if name.endswith(".gz"):
        content, name = gzip.decompress(content), name.removesuffix(".gz")
    match name.rpartition(".")[2]:
        case "csv" | "tsv":
            return _delimited(content, "," if name.endswith(".csv") else "\t")
        case "jsonl":
            return _json_lines(content)
        case suffix:
            return _columns(content, suffix)


def _delimited(content: bytes, delimiter: str) -> Rows:
    text = io.TextIOWrapper(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")), "utf-8", "surrogateescape", newline="")
    records = csv.reader(text, delimiter=delimiter)
    header = [name.strip().casefold() for name in next(records)]
    places = [header.index(part) for part in PARTS]
    for number, record in enumerate(records, start=2):
        if not record:
            yield number, [""] * len(PARTS)
        else:
            yield number, [record[place] for place in places] if len(record) == len(header) else None


def _json_lines(content: bytes) -> Rows:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = {name.casefold(): value for name, value in json.loads(line).items()}
        except (ValueError, AttributeError):
            yield number, None
            continue
        yield number, [record.get(part) for part in PARTS]


def _columns(content: bytes, suffix: str) -> Rows:
    import polars

    read = polars.read_parquet if suffix == "parquet" else polars.read_ipc
    try:
        frame = read(io.BytesIO(content))
        frame = frame.rename({name: name.casefold() for name in frame.columns}).select(PARTS)
        days = frame["time"].dtype == polars.Date
        rows = (frame.with_columns(polars.col("time").cast(polars.Int32)) if days else frame).rows()
    except BaseException as error:  # Polars raises a kind of its own for what it takes for impossible
        if not re.search("(?i)utf-?8", str(error)):
            raise ValueError(f"Polars: {error}") from error
        rows, days = _bytewise(content)
    for number, (*names, time) in enumerate(rows, start=1):
        yield number, [*names, _iso(time) if days else time]


def _iso(days: int | None) -> str:
    """Return a number of days since 1970 as a date, or as a number if Python has no such date."""
    try:
        return "" if days is None else date.fromordinal(EPOCH + days).isoformat()
    except (ValueError, OverflowError):
        return f"day {days}"


def _bytewise(content: bytes) -> tuple[list[tuple[Any, ...]], bool]:
    """Read a Parquet file with text that is not UTF-8, and return whether its times are numbers of days.

    Polars rejects the whole file, so Arrow reads the bytes.
    """
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    columns: list[list[Any]] = []
    for part in PARTS:
        column = table.column(part)
        if pa.types.is_date(column.type):
            columns.append(column.cast(pa.int32()).to_pylist())
        else:
            column = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            values = column.cast(pa.binary()).to_pylist()
            columns.append([value if value is None else value.decode("utf-8", "surrogateescape") for value in values])
    return list(zip(*columns, strict=True)), pa.types.is_date(table.column("time").type)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    text = value if isinstance(value, str) else json.dumps(value)
    text.encode()  # raises ValueError for bytes that are not UTF-8
    return text


def _day(text: str, number: int) -> str:
    found = DAY.fullmatch(text)
    if found is None:
        raise ValueError(f"row {number}: {text!r} is not a date")
    return date(*map(int, found.groups())).isoformat()
