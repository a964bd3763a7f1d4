"""Bad input: an error with file, row, column and reason, and nothing written; or skipped and counted."""

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather
from typer.testing import Result

from commands import invoke, titer
from data.samples import POINT, write_benchmark, write_table
from titer.data.readers import delimited, json_lines
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import Table, TableOptions, read_tables
from titer.errors import DataError

HEADER = "subject,relation,object,time\n"
GOOD = "Ada,visit,Ben,2018-10-01\nBen,visit,Ada,2018-10-02\nAda,visit,Ben,2018-10-03\n"
LASTING = "subject,relation,object,start,end\n"
JSON_ROW = '{"subject": "Ada", "relation": "visit", "object": "Ben", "time": "2018-10-01"}\n'


def run_import(*words: str | Path) -> Result:
    return invoke("data", "import", *words)


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


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


@pytest.mark.parametrize(("name", "text", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_cannot_be_read_is_not_skipped(tmp_path: Path, name: str, text: str | bytes, message: str):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run_import(path, "--out", tmp_path / "out", "--split", "1,0,0", "--bad-rows", "skip")
    assert isinstance(result.exception, DataError)
    assert str(result.exception).startswith(f"{path}{message}")
    assert tree(tmp_path) == {name}


def table_of(count: int) -> pa.Table:
    parts = {part: [f"{part} {i % 7}" for i in range(count)] for part in ("subject", "relation", "object")}
    return pa.table({**parts, "time": list(range(count))})


def test_a_damaged_parquet_file_is_named(tmp_path: Path):
    path = tmp_path / "facts.parquet"
    pq.write_table(table_of(1000), path)
    damaged = bytearray(path.read_bytes())
    damaged[4:200] = bytes(196)
    path.write_bytes(damaged)
    with pytest.raises(DataError, match=r"facts\.parquet"):
        read(path)


def test_a_truncated_feather_file_is_named(tmp_path: Path):
    path = tmp_path / "facts.feather"
    feather.write_feather(table_of(1000), str(path))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=r"facts.feather: not a readable Feather file"):
        read(path)


@pytest.mark.parametrize("name", ["facts.parquet", "facts.feather", "FACTS.PARQUET"])
def test_rows_of_arrow_files_are_numbered_from_one(tmp_path: Path, name: str):
    path = tmp_path / name
    table = pa.table({"subject": ["a", "b", None], "relation": ["r"] * 3, "object": ["b"] * 3, "time": [1, 2, 3]})
    if path.suffix.lower() == ".parquet":
        pq.write_table(table, path, row_group_size=2)
    else:
        feather.write_feather(table, str(path), chunksize=2)
    with pytest.raises(DataError, match="row 3, column 'subject': empty"):
        read(path)


@pytest.mark.parametrize("name", ["facts.parquet", "facts.feather"])
def test_impossible_columns_of_arrow_files_are_named(tmp_path: Path, name: str):
    path = tmp_path / name
    write = pq.write_table if name.endswith("parquet") else feather.write_feather
    write(table_of(2).set_column(3, "time", pa.array([[1], [2]])), str(path))
    with pytest.raises(DataError, match=f"{name}, column 'time': "):
        read(path)
    write(table_of(2).append_column("time", pa.array([1, 2])), str(path))
    with pytest.raises(DataError, match=f"{name}, row 1: column 'time' appears twice"):
        read(path)


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


# Row numbers, whatever stands before a row and however the file is cut into blocks.

LINES = {
    "good": "Ada,visit,Ben,{i}",
    "quoted": '"A, da","vi""sit",Ben,{i}',
    "two lines": '"A\nda",visit,Ben,{i}',
    "blank": "",
    "empty": ",,,",
    "short": "Ada,visit",
    "long": "Ada,visit,Ben,{i},more",
    "no number": "Ada,visit,Ben,soon",
    "no name": "Ada,,Ben,{i}",
    "not UTF-8": "Ad\udce9,visit,Ben,{i}",
    "short and not UTF-8": "Ad\udce9,visit",
}
PLACES = {
    "short": "",
    "long": "",
    "no number": "time",
    "no name": "relation",
    "not UTF-8": "subject",
    "short and not UTF-8": "",
    "two lines": "subject",
}


@pytest.fixture(scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK_BYTES", 48)
        patch.setattr(json_lines, "BATCH_ROWS", 3)
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=150)
@given(kinds=st.lists(st.sampled_from(list(LINES)), max_size=30), header=st.booleans(), final_newline=st.booleans())
def test_bad_rows_are_reported_with_their_row_number(kinds: list[str], header: bool, final_newline: bool):
    kinds = ["good", *kinds]
    lines = [HEADER.strip()] * header + [LINES[kind].format(i=i) for i, kind in enumerate(kinds)]
    text = "\n".join(lines) + "\n" * (final_newline or not lines[-1])
    first = 2 if header else 1
    bad = [(i + first, PLACES[kind]) for i, kind in enumerate(kinds) if kind in PLACES]
    names = None if header else list(POINT)
    rejections = Rejections(skip=True)
    with TemporaryDirectory() as folder:
        path = Path(folder, "facts.csv")
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        table = read(path, names=names, rejections=rejections)
        if bad:
            with pytest.raises(DataError) as caught:
                read(path, names=names)
            column = f", column {bad[0][1]!r}" if bad[0][1] else ""
            assert str(caught.value).startswith(f"{path}, row {bad[0][0]}{column}: ")
    assert sorted((problem.row, problem.column) for problem in rejections.problems) == bad
    assert rejections.num_blank == sum(kind in ("blank", "empty") for kind in kinds)
    numbers = [i for i, kind in enumerate(kinds) if kind in ("good", "quoted")]
    assert [int(table.axis.label(t)) for t in table.facts.time.tolist()] == numbers


JSON_LINES = {
    "good": '{{"subject": "a", "relation": "r", "object": "b", "time": {i}}}',
    "blank": "  ",
    "broken": '{{"subject": "a',
    "not an object": "[]",
    "no name": '{{"subject": "a", "relation": null, "object": "b", "time": {i}}}',
    "no number": '{{"subject": "a", "relation": "r", "object": "b", "time": "soon"}}',
}
JSON_PLACES = {"broken": "", "not an object": "", "no name": "relation", "no number": "time"}


@pytest.mark.usefixtures("small_blocks")
@given(kinds=st.lists(st.sampled_from(list(JSON_LINES)), max_size=12))
def test_bad_lines_of_json_are_reported_with_their_row_number(kinds: list[str]):
    kinds = ["good", *kinds]
    bad = [(i + 1, JSON_PLACES[kind]) for i, kind in enumerate(kinds) if kind in JSON_PLACES]
    rejections = Rejections(skip=True)
    with TemporaryDirectory() as folder:
        path = Path(folder, "facts.jsonl")
        path.write_text("".join(JSON_LINES[kind].format(i=i) + "\n" for i, kind in enumerate(kinds)))
        table = read(path, rejections=rejections)
        if bad:
            with pytest.raises(DataError, match=rf"facts.jsonl, row {bad[0][0]}\b"):
                read(path)
    assert sorted((problem.row, problem.column) for problem in rejections.problems) == bad
    assert rejections.num_blank == kinds.count("blank")
    assert len(table.facts) == kinds.count("good")


def test_a_quoted_newline_does_not_make_a_row(tmp_path: Path):
    header = HEADER.strip() + ",note\n"
    (tmp_path / "facts.csv").write_text(header + 'Ada,visit,Ben,1,"two\nlines"\nAda,visit,Ben,soon,\n')
    with pytest.raises(DataError, match="row 3, column 'time'"):
        read(tmp_path / "facts.csv")


def test_rows_between_two_stray_quotation_marks_are_not_read_as_one_name(tmp_path: Path):
    rows = 'Ada,visit,"Ben,2018-10-01\nAda,visit,Cleo,2018-10-02\nAda,visit,"Dan,2018-10-03\n'
    (tmp_path / "facts.csv").write_text(HEADER + GOOD + rows)
    with pytest.raises(DataError, match="row 5, column 'object': a line break in a name"):
        read(tmp_path / "facts.csv")


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


def read(path: Path, names: list[str] | None = None, rejections: Rejections | None = None) -> Table:
    return read_tables([path], TableOptions(names=names), Rejections() if rejections is None else rejections)


def write_good(folder: Path) -> Path:
    return write_table(folder / "facts.csv", [("Ada", "visit", "Ben", f"2018-10-0{day}") for day in range(1, 6)])
