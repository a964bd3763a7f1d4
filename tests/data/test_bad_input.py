"""Bad input: an error with file, row, column and reason, and nothing written; or skipped and counted."""

import csv
import gzip
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from commands import titer
from data.bad_input import GOOD, HEADER, JSON_ROW, run_import, tree, write_good
from data.samples import POINT, write_benchmark
from titer.data.readers.arrow import ArrowTable
from titer.errors import DataError

LASTING = "subject,relation,object,start,end\n"


def _damaged_zip() -> bytes:
    """Return an archive whose compressed text cannot be decompressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("f.csv", HEADER + GOOD)
    content = bytearray(buffer.getvalue())
    content[30 + len("f.csv")] = 0xFF  # the first byte of the data: no such kind of block
    return bytes(content)


DAMAGED_ZIP = _damaged_zip()


# For each problem: the file, its content, and the message after the file name. The first three rows are good.
BAD_ROWS: dict[str, tuple[str, str | bytes, str]] = {
    "too few columns": ("f.csv", HEADER + GOOD + "Ada,visit,Ben\n", ", row 5: 3 columns instead of 4"),
    "one column": ("f.csv", HEADER + GOOD + "Ada\n", ", row 5: 1 column instead of 4"),
    "too many columns": (
        "f.tsv",
        (HEADER + GOOD + "a,b,c,d,e\n").replace(",", "\t"),
        ", row 5: 5 columns instead of 4",
    ),
    "an empty name": ("f.csv", HEADER + GOOD + "Ada, ,Ben,2018-10-04\n", ", row 5, column 'relation': empty"),
    "an empty time": ("f.csv", HEADER + GOOD + "Ada,visit,Ben,\n", ", row 5, column 'time': empty"),
    "not a number": (
        "f.csv",
        HEADER + "a,r,b,1\na,r,b,2\na,r,b,3\na,r,b,4x\n",
        ", row 5, column 'time': '4x' is not an integer",
    ),
    "not a date": (
        "f.csv",
        HEADER + GOOD + "Ada,visit,Ben,4.10.2018\n",
        ", row 5, column 'time': '4.10.2018' is not a date like 2018-10-04",
    ),
    "not in the calendar": (
        "f.csv",
        HEADER + GOOD + "Ada,visit,Ben,2018-02-30\n",
        ", row 5, column 'time': '2018-02-30' is not a valid date",
    ),
    "an imprecise date": (
        "f.csv",
        HEADER + GOOD + "Ada,visit,Ben,2018-10-##\n",
        ", row 5, column 'time': '2018-10-##' names only a month, but one time step is one day",
    ),
    "an unknown date of a point": (
        "f.csv",
        HEADER + GOOD + "Ada,visit,Ben,####-##-##\n",
        ", row 5, column 'time': '####-##-##' is an unknown date",
    ),
    "an end before its start": (
        "f.csv",
        LASTING + "a,r,b,2001,2001\na,r,b,2002,2002\na,r,b,2003,2003\na,r,b,2004,2003\n",
        ", row 5, column 'end': the end is before the start",
    ),
    "bytes that are not UTF-8": (
        "f.csv",
        (HEADER + GOOD).encode() + b"Ad\xe9,visit,Ben,2018-10-04\n",
        ", row 5, column 'subject': not UTF-8 text",
    ),
    "bytes that are not UTF-8 in a short row": (
        "f.csv",
        (HEADER + GOOD).encode() + b"Ad\xe9,visit,Ben\n",
        ", row 5: 3 columns instead of 4",
    ),
    "a broken JSON line": ("f.jsonl", 3 * JSON_ROW + '{"subject": "A\n', ", row 4: not JSON: "),
    "JSON that is not an object": ("f.jsonl", 3 * JSON_ROW + "[1, 2]\n", ", row 4: not a JSON object"),
    "JSON without an end": ("f.jsonl", 3 * JSON_ROW + "[" * 100_000 + "\n", ", row 4: not JSON"),
    "JSON that lacks a key": ("f.jsonl", 3 * JSON_ROW + '{"subject": "A"}\n', ", row 4, column 'relation': empty"),
    "JSON that is not UTF-8": ("f.jsonl", 3 * JSON_ROW.encode() + b'{"subject": "\xe9"}\n', ", row 4: not UTF-8 text"),
    "JSON with half a character": (
        "f.jsonl",
        3 * JSON_ROW + JSON_ROW.replace("Ada", "\\ud800"),
        ", row 4, column 'subject': not UTF-8 text",
    ),
}

BAD_FILES: dict[str, tuple[str, str | bytes, str]] = {
    "an empty file": ("f.csv", "", ": the file is empty"),
    "an empty compressed file": ("f.csv.gz", gzip.compress(b""), ", row 1: empty, but the first row must"),
    "an empty JSON file": ("f.jsonl", "\n\n", ": the file is empty"),
    "JSON without objects": ("f.jsonl", "\n3\n", ", row 2: not a JSON object"),
    "nothing but a header": ("f.csv", HEADER, ": no facts were read: no rows"),
    "a blank header": ("f.csv", "\n" + HEADER + GOOD, ", row 1: empty, but the first row must have the column names"),
    "a missing column": (
        "f.csv",
        "subject,relation,time\na,r,2018\n",
        ", row 1: no column 'object'; the file has subject, relation, time",
    ),
    "a missing time": (
        "f.csv",
        "subject,relation,object\na,r,b\n",
        ", row 1: no column 'time' (or 'start' and 'end')",
    ),
    "a missing end": ("f.csv", "subject,relation,object,start\na,r,b,1\n", ", row 1: no column 'end'"),
    "a missing column in JSON": ("f.jsonl", '{"subject": "a"}\n', ", row 1: no column 'relation'"),
    "a repeated column": ("f.csv", "subject,relation,object,time,time\n", ", row 1: column 'time' appears twice"),
    "UTF-16": ("f.csv", (HEADER + GOOD).encode("utf-16"), ", row 1: not utf-8 text; --encoding sets another"),
    "UTF-16 without a mark": ("f.csv", (HEADER + GOOD).encode("utf-16-le"), ", row 1: not utf-8 text"),
    "JSON in UTF-16": ("f.jsonl", JSON_ROW.encode("utf-16"), ", row 1: not UTF-8 text"),
    "a header that is not UTF-8": ("f.csv", b"\xe9," + (HEADER + GOOD).encode(), ", row 1: not utf-8 text"),
    "an open quotation mark": (
        "f.csv",
        HEADER + GOOD + '"Ada,visit,Ben,2018-10-04\n' + GOOD,
        ", row 5: a quotation mark is opened and never closed",
    ),
    "an open quotation mark in the last column": (
        "f.csv",
        'time,subject,relation,object\n1,a,"r\nr",b\n2,a,r,"b\n3,a,r,b\n4,a,r,b',
        ", row 3: a quotation mark is opened and never closed",
    ),
    "an open quotation mark before much text": (
        "f.csv",
        HEADER + GOOD + '"' + 20_000 * GOOD,
        ", row 5: a quotation mark is opened and never closed",
    ),
    "not Parquet": ("f.parquet", "PAR1, but invalid", ": not a readable Parquet file"),
    "not Feather": ("f.feather", "ARROW1, but invalid", ": not a readable Feather file"),
    "not gzip": ("f.csv.gz", b"\x1f\x8b\x08, but invalid", ": cannot be read"),
    "neither gzip nor JSON": ("f.jsonl.gz", b"\x1f\x8b\x08, but invalid", ": cannot be read"),
    "an unknown ending": ("f.pdf", b"%PDF-1.7 \x00\x01\x02", ": unknown format '.pdf'"),
    "not Excel": ("f.xlsx", HEADER + GOOD, ": not a readable Excel file"),
    "not an archive": ("f.zip", HEADER + GOOD, ": cannot be read as a .zip archive"),
    "a damaged archive": ("f.zip", DAMAGED_ZIP, ": cannot be read as a .zip archive"),
}


@pytest.mark.parametrize(
    ("name", "text", "message"), [*BAD_ROWS.values(), *BAD_FILES.values()], ids=[*BAD_ROWS, *BAD_FILES]
)
def test_bad_input_is_reported_with_its_place_and_nothing_is_written(
    tmp_path: Path, name: str, text: str | bytes, message: str
):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run_import(path, "--out", tmp_path / "out", "--split", "1,0,0")
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith(f"{path}{message}")
    assert tree(tmp_path) == {name}


@pytest.mark.parametrize(("name", "text", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_can_be_skipped_and_is_listed(tmp_path: Path, name: str, text: str | bytes, message: str):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run_import(path, "--out", tmp_path / "out", "--split", "1,0,0", "--bad-rows", "skip")
    assert result.exit_code == 0
    assert "3 / 0 / 0 facts" in result.stdout
    rejected = tmp_path / "out.rejected.csv"
    assert f"skipped 1 invalid row, written with the reasons to {rejected}" in result.stderr
    with rejected.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    where = {name: row[f"rejected_{name}"] for name in ("file", "row", "column", "reason")}
    column = f", column '{where['column']}'" if where["column"] else ""
    assert f"{where['file']}, row {where['row']}{column}: {where['reason']}".startswith(f"{path}{message}")
    assert any(row[name] for name in row if not name.startswith("rejected_"))


def test_columns_of_different_lengths_are_reported_as_damage():
    class Damaged(ArrowTable):
        """Read by column, as a Parquet file with a damaged number of values is."""

        def _record_batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
            yield self.table.select(wanted).slice(int("b" in wanted)).to_batches()[0]

    with pytest.raises(DataError, match="columns have different numbers of rows"):
        Damaged("f.parquet", pa.table({"a": ["x", "y"], "b": ["x", "y"]})).head(10)


@pytest.mark.parametrize(("name", "text", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_cannot_be_read_is_not_skipped(tmp_path: Path, name: str, text: str | bytes, message: str):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run_import(path, "--out", tmp_path / "out", "--split", "1,0,0", "--bad-rows", "skip")
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith(f"{path}{message}")
    assert tree(tmp_path) == {name}


def test_a_missing_file_is_named(tmp_path: Path):
    result = run_import(tmp_path / "nowhere.csv", "--out", tmp_path / "out")
    assert str(result.exception) == f"{tmp_path / 'nowhere.csv'}: no such file"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--column", "subject"), "--column must be PART=COLUMN"),
        (("--column", "verb=relation"), "unknown part of a fact 'verb'"),
        (("--column", "time=when"), "no column 'when'"),
        (("--split", "0.8,0.2"), "--split must be three shares"),
        (("--split", "0.8,0.1,0.2"), "must add up to 1"),
        (("--valid-from", "2018-10-02"), "of both valid and test"),
        (("--valid-from", "2018-10-02", "--test-from", "soon"), "'soon' is not a date"),
        (("--earliest", "2018"), "names only a year, but one time step is one day"),
        (("--encoding", "utf-9"), "unknown encoding 'utf-9'"),
        (("--encoding", "ascii"), "cannot be read as ascii text"),
        (("--delimiter", "||"), "the delimiter must be one character, not '||'"),
        (("--unit", "hour"), "names only a day, but one time step is one hour"),
        (("--date-format", "%d.%m.%Y"), "'2018-10-01' does not match the date format '%d.%m.%Y'"),
    ],
)
def test_impossible_options_are_rejected_and_nothing_is_written(tmp_path: Path, words: tuple[str, ...], message: str):
    (tmp_path / "facts.csv").write_text(HEADER + GOOD.replace("Ada", "Zoë"))
    result = run_import(tmp_path / "facts.csv", "--out", tmp_path / "out", *words)
    assert isinstance(result.exception, DataError)
    assert message in str(result.exception)
    assert tree(tmp_path) == {"facts.csv"}


@pytest.mark.slow
def test_the_process_fails_with_one_line_and_no_traceback(tmp_path: Path):
    path = tmp_path / "facts.csv"
    path.write_text(HEADER + GOOD + "Ada,visit,Ben,soon\n")
    command = [sys.executable, "-m", "titer", "data", "import", str(path), "--out", str(tmp_path / "new" / "out")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        f"error: {path}, row 5, column 'time': 'soon' is not a date like 2018-10-04",
        "(--bad-rows skip leaves such rows out and lists them in a file)",
    ]
    assert tree(tmp_path) == {"facts.csv"}


def test_rejected_rows_are_listed_in_order_with_their_columns_and_the_reason(tmp_path: Path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(HEADER + "Ada,visit,Ben,soon\nAda\n" + GOOD)
    second.write_text(HEADER + "Ada,visit,,2018-10-01\n")
    rejected = tmp_path / "elsewhere" / "bad.csv"
    words = ("--bad-rows", "skip", "--rejected", rejected, "--split", "1,0,0")
    result = run_import(first, second, "--out", tmp_path / "out", *words)
    assert "skipped 3 invalid rows" in result.stderr
    with rejected.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        [*POINT, "rejected_file", "rejected_row", "rejected_column", "rejected_reason"],
        ["Ada", "visit", "Ben", "soon", str(first), "2", "time", "'soon' is not a date like 2018-10-04"],
        ["Ada", "", "", "", str(first), "3", "", "1 column instead of 4"],
        ["Ada", "visit", "", "2018-10-01", str(second), "2", "object", "empty"],
    ]
    assert json.loads(titer("data", "info", tmp_path / "out", "--json"))["train"] == 3


def test_no_file_of_rejected_rows_is_written_if_all_rows_are_good(tmp_path: Path):
    result = run_import(write_good(tmp_path), "--out", tmp_path / "out", "--bad-rows", "skip")
    assert result.stderr == ""
    assert not (tmp_path / "out.rejected.csv").exists()


@pytest.mark.parametrize("bad_rows", ["fail", "skip"])
def test_blank_rows_and_rows_outside_the_dates_are_reported(tmp_path: Path, bad_rows: str):
    (tmp_path / "facts.csv").write_text(HEADER + GOOD + "\n,,,\n" + GOOD.replace("2018", "2017"))
    words = ("--earliest", "2018-01-01", "--bad-rows", bad_rows)
    result = run_import(tmp_path / "facts.csv", "--out", tmp_path / "out", *words)
    assert result.stderr.splitlines() == [
        "skipped 2 blank rows",
        "skipped 3 rows outside the given dates",
    ]


def test_blank_rows_of_json_and_of_a_benchmark_folder_are_reported(tmp_path: Path):
    (tmp_path / "facts.jsonl").write_text("\n" + JSON_ROW + " \n")
    result = run_import(tmp_path / "facts.jsonl", "--out", tmp_path / "json", "--split", "1,0,0")
    assert result.stderr == "skipped 2 blank rows\n"
    folder = write_benchmark(tmp_path / "folder", train="\n0\t0\t1\t0\n", valid="\n\n0\t0\t1\t24\n")
    assert run_import(folder, "--out", tmp_path / "bench").stderr == "skipped 3 blank rows\n"


def test_no_dataset_is_written_if_the_rejected_rows_cannot_be(tmp_path: Path):
    (tmp_path / "facts.csv").write_text(HEADER + GOOD + "Ada\n")
    words = ("--bad-rows", "skip", "--rejected", tmp_path / "facts.csv" / "bad.csv")
    assert run_import(tmp_path / "facts.csv", "--out", tmp_path / "out", *words).exception is not None
    assert tree(tmp_path) == {"facts.csv"}
