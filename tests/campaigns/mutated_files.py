"""Random files of facts in all formats, damaged in their bytes or in their values."""

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from campaigns.damage import damage

NAMES = ("Ada", "Ben", "Cleo", "Dan O'Neil", 'Eve "E"', "Éva, Köln", "Фёдор", "李雷", "a;b\tc", "007", "NA", "=1+1")
RELATIONS = ("visit", "meet", "call", "écrit à")
ODD = (
    "",
    " ",
    '"',
    '""',
    "'",
    ",",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\ufeff",
    "\u2028",
    "\x85",
    "\x1b[31m",
    "\u202e",
    "null",
    "NaN",
    "1e5",
    "-",
    "2024-02-30",
    "2024-13-01",
    "9999-12-31",
    "0001-01-01",
    "0000-01-01",
    "24-1-1",
    "2024-01-01T25:00",
    "2024-01-01T23:30:00+05:30",
    "2024-W05",
    "####-##-##",
    "x" * 3000,
    "\\N",
    "{}",
    "[",
)
Row = list[Any]


def mutated_file(number: int) -> tuple[str, bytes, bytes]:
    """Return the name and the content of the file of a number, and its content before bytes of it were changed."""
    choice = random.Random(number)
    suffix = choice.choice(list(WRITERS))
    rows = _rows(choice)
    how = choice.choice(["values", "bytes", "bytes", "both", "none" if choice.random() < 0.2 else "bytes"])
    if how in ("values", "both"):
        for _ in range(choice.choice([1, 2, 5])):
            rows[choice.randrange(len(rows))][choice.randrange(4)] = choice.choice(ODD)
    inside = how in ("bytes", "both") and suffix.endswith((".gz", ".zip")) and choice.random() < 0.5
    content = WRITERS[suffix](rows, choice, lambda text: _damaged(text, choice) if inside else text)
    is_damaged = how in ("bytes", "both") and not inside
    return f"facts{suffix}", _damaged(content, choice) if is_damaged else content, content


def _rows(choice: random.Random) -> list[Row]:
    start = date(2024, 1, 1)
    return [
        [*choice.sample(NAMES, 2), choice.choice(RELATIONS), (start + timedelta(days=day)).isoformat()]
        for day in sorted(choice.randrange(60) for _ in range(choice.choice([3, 20, 40])))
    ]


def _damaged(content: bytes, choice: random.Random) -> bytes:
    """Return a content with one damage or some; half of the time, text is put where it does harm in tables."""
    for _ in range(choice.choice([1, 1, 1, 2, 8])):
        if not content:
            return content
        place = choice.randrange(len(content))
        if choice.random() < 0.5:
            content = damage(content, choice)
        else:
            content = content[:place] + choice.choice(ODD).encode() + content[place + choice.randrange(2) :]
    return content


Damage = Callable[[bytes], bytes]


def _text(delimiter: str) -> Callable[[list[Row], random.Random, Damage], bytes]:
    def write(rows: list[Row], choice: random.Random, change: Damage) -> bytes:
        end = choice.choice(["\n", "\n", "\r\n"])
        lines = [["subject", "object", "relation", "time"], *rows]
        text = end.join(delimiter.join(_quoted(str(value), delimiter) for value in line) for line in lines) + end
        return change((b"\xef\xbb\xbf" if choice.random() < 0.1 else b"") + text.encode())

    return write


def _quoted(text: str, delimiter: str) -> str:
    must = any(mark in text for mark in (delimiter, '"', "\n", "\r"))
    return '"' + text.replace('"', '""') + '"' if must else text


def _json(rows: list[Row], choice: random.Random, change: Damage) -> bytes:
    names = ("subject", "object", "relation", "time")
    is_ascii = choice.random() < 0.5
    lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=is_ascii) for row in rows]
    return change(("\n".join(lines) + "\n").encode())


def _table(rows: list[Row], choice: random.Random) -> pa.Table:
    subject, object, relation, time = (list(column) for column in zip(*rows, strict=True))
    times: Any = pa.array(time)
    if choice.random() < 0.3:
        times = pa.array([_day(value) for value in time], pa.date32())
    names: Any = pa.array(subject)
    if choice.random() < 0.3:
        names = names.dictionary_encode()
    return pa.table({"subject": names, "object": object, "relation": relation, "time": times})


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _feather(rows: list[Row], choice: random.Random, change: Damage) -> bytes:
    buffer = io.BytesIO()
    compression = choice.choice(["uncompressed", "uncompressed", "lz4", "zstd"])
    pyarrow.feather.write_feather(_table(rows, choice), buffer, compression=compression)
    return change(buffer.getvalue())


def _parquet(rows: list[Row], choice: random.Random, change: Damage) -> bytes:
    buffer = io.BytesIO()
    compression = choice.choice(["none", "snappy", "zstd"])
    pyarrow.parquet.write_table(
        _table(rows, choice), buffer, compression=compression, use_dictionary=choice.random() < 0.5
    )
    return change(buffer.getvalue())


def _gzipped(write: Callable[[list[Row], random.Random, Damage], bytes]) -> Any:
    return lambda rows, choice, change: gzip.compress(write(rows, choice, change), mtime=0)


def _zipped(rows: list[Row], choice: random.Random, change: Damage) -> bytes:
    buffer = io.BytesIO()
    method = choice.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("facts.csv"), _text(",")(rows, choice, change), method)
    return buffer.getvalue()


WRITERS: dict[str, Callable[[list[Row], random.Random, Damage], bytes]] = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".jsonl": _json,
    ".feather": _feather,
    ".arrow": _feather,
    ".parquet": _parquet,
    ".csv.gz": _gzipped(_text(",")),
    ".jsonl.gz": _gzipped(_json),
    ".zip": _zipped,
}
"""What writes a file of each kind."""
