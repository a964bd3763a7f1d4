"""Folders, patterns, archives, standard input, Excel files and databases."""

import bz2
import gzip
import io
import sqlite3
import subprocess
import sys
import zipfile
from collections import Counter
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Pool, event

from commands import invoke, titer
from data.samples import POINT, content, write_benchmark, write_table
from titer.data.dataset import Dataset
from titer.data.dataset_folder import open_dataset
from titer.data.importing import import_dataset
from titer.data.readers.sql import run_query
from titer.errors import DataError, MissingPackageError

ROWS = [("Ada", "visit", "Ben", f"2018-10-{day:02d}") for day in range(1, 11)]


def facts(dataset: Dataset) -> Counter[tuple[str, ...]]:
    return sum(content(dataset).values(), Counter())


def test_a_folder_is_all_its_tables(tmp_path: Path):
    folder = tmp_path / "tables"
    (folder / "inner").mkdir(parents=True)
    write_table(folder / "a.csv", ROWS[:3])
    write_table(folder / "b.parquet", ROWS[3:6])
    write_table(folder / "inner" / "c.csv.gz", ROWS[6:])
    (folder / "readme.md").write_text("not a table")
    (folder / ".hidden.csv").write_text("not,a,table\n")
    assert facts(import_dataset(folder)) == Counter(ROWS)


def test_a_folder_without_tables_is_an_error(tmp_path: Path):
    with pytest.raises(DataError, match="has no files to import"):
        import_dataset(tmp_path)


def test_a_folder_in_the_benchmark_format_keeps_its_splits(tmp_path: Path):
    assert len(import_dataset(write_benchmark(tmp_path / "bench")).train) == 3


def test_a_pattern_is_all_files_that_match(tmp_path: Path):
    for i in range(5):
        write_table(tmp_path / f"part{i}.csv", ROWS[2 * i : 2 * i + 2])
    (tmp_path / "other.csv").write_text("x\n")
    assert facts(import_dataset(f"{tmp_path}/part*.csv")) == Counter(ROWS)
    with pytest.raises(DataError, match="no file matches"):
        import_dataset(f"{tmp_path}/none*.csv")


def test_an_archive_is_all_its_tables(tmp_path: Path):
    inner = write_table(tmp_path / "a.csv", ROWS[:5]), write_table(tmp_path / "b.csv.gz", ROWS[5:])
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(inner[0], "data/a.csv")
        archive.write(inner[1], "../outside/b.csv.gz")  # an archive must not write anywhere
        archive.writestr("__MACOSX/data/._a.csv", b"\0\1")
        archive.writestr("readme.txt.md", "not a table")
    assert facts(import_dataset(tmp_path / "all.zip")) == Counter(ROWS)
    assert not (tmp_path.parent / "outside").exists()


def test_a_bad_row_of_an_archive_is_reported_with_its_file(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("a.csv", "subject,relation,object,time\na,r,b,2018-10-01\na,r,b,soon\n")
    with pytest.raises(DataError, match=r"all\.zip/a\.csv, row 3, column 'time'"):
        import_dataset(tmp_path / "all.zip", split=(1, 0, 0))
    titer("data", "import", tmp_path / "all.zip", "--out", tmp_path / "out", "--bad-rows", "skip", "--split", "1,0,0")
    assert "all.zip/a.csv,3,time" in (tmp_path / "out.rejected.csv").read_text()


def test_an_archive_without_tables_is_an_error(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("a.txt.md", "")
    with pytest.raises(DataError, match="has no file that can be imported"):
        import_dataset(tmp_path / "all.zip")


def as_csv() -> bytes:
    return "\n".join([",".join(POINT), *(",".join(row) for row in ROWS)]).encode()


def as_parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({name: [row[i] for row in ROWS] for i, name in enumerate(POINT)}), file)
    return file.getvalue()


def as_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", as_csv())
    return file.getvalue()


def as_json() -> bytes:
    return "\n".join(
        f'{{"subject": "{s}", "relation": "{r}", "object": "{o}", "time": "{t}"}}' for s, r, o, t in ROWS
    ).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [as_csv(), gzip.compress(as_csv()), bz2.compress(as_csv()), as_parquet(), as_zip(), as_json()],
    ids=["csv", "gzip", "bzip2", "parquet", "zip", "json"],
)
def test_standard_input_can_have_any_format(tmp_path: Path, data: bytes):
    words = [sys.executable, "-m", "titer", "data", "import", "-", "--out", str(tmp_path / "out")]
    subprocess.run(words, input=data, check=True, timeout=60, capture_output=True)
    assert facts(open_dataset(tmp_path / "out")) == Counter(ROWS)


def test_a_list_of_json_objects_is_read(tmp_path: Path):
    (tmp_path / "f.json").write_text("[" + as_json().decode().replace("\n", ",\n") + "]")
    assert facts(import_dataset(tmp_path / "f.json")) == Counter(ROWS)
    (tmp_path / "bad.json").write_text('[{"subject": "a", "relation": "r", "object": "b", "time": 1}, 3]')
    with pytest.raises(DataError, match=r"bad\.json, row 2: not a JSON object"):
        import_dataset(tmp_path / "bad.json")
    (tmp_path / "cut.json").write_text('[{"subject": "a"')
    with pytest.raises(DataError, match=r"cut\.json: not JSON"):
        import_dataset(tmp_path / "cut.json")


def test_without_an_option_the_dataset_is_named_like_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "visits.2018.csv", ROWS)
    titer("data", "import", "visits.2018.csv")
    assert open_dataset(tmp_path / "data" / "visits").name == "visits"


def test_a_database_url_without_a_query_is_an_error_that_says_what_to_do(tmp_path: Path):
    result = invoke("data", "import", "sqlite:///events.db", "--out", tmp_path / "out")
    assert "a database is read with --query" in str(result.exception)


def write_excel(path: Path, rows: list[tuple[object, ...]]) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "empty"  # pyright: ignore[reportOptionalMemberAccess]
    sheet = book.create_sheet("facts")
    for row in rows:
        sheet.append(row)
    book.save(path)
    return path


def test_an_excel_file_is_read_with_its_dates_and_numbers(tmp_path: Path):
    rows: list[tuple[object, ...]] = [POINT]
    rows += [("Ada", 7, "Ben", date(2018, 10, day)) for day in range(1, 9)]
    rows += [(None, None, None, None), ("Ada", 7.0, "Ben", datetime(2018, 10, 9)), ("Ada", 7, None, "2018-10-10")]
    path = write_excel(tmp_path / "facts.xlsx", rows)
    with pytest.raises(DataError, match=r"facts\.xlsx, row 12, column 'object': empty"):
        import_dataset(path)
    result = invoke("data", "import", path, "--out", tmp_path / "out", "--bad-rows", "skip")
    assert "skipped 1 blank row" in result.stderr
    dataset = open_dataset(tmp_path / "out")
    assert facts(dataset) == Counter(("Ada", "7", "Ben", f"2018-10-{day:02d}") for day in range(1, 10))


@pytest.fixture
def database(tmp_path: Path) -> str:
    connection = sqlite3.connect(tmp_path / "crm.db")
    connection.execute("CREATE TABLE visits (who TEXT, whom TEXT, day DATE, kind TEXT)")
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", [(s, o, t, r) for s, r, o, t in ROWS])
    connection.commit()
    connection.close()
    return f"sqlite:///{tmp_path / 'crm.db'}"


def test_a_query_is_read_from_a_database(database: str, tmp_path: Path):
    query = "SELECT who AS subject, kind AS relation, whom AS object, day AS time FROM visits"
    titer("data", "import", database, "--query", query, "--out", tmp_path / "out")
    assert facts(open_dataset(tmp_path / "out")) == Counter(ROWS)


def test_the_columns_of_a_query_are_detected(database: str):
    dataset = import_dataset(database, query="SELECT * FROM visits", accept=True)
    assert facts(dataset) == Counter(ROWS)
    assert dataset.name == "crm"


@pytest.mark.parametrize(
    ("url", "query", "message"),
    [
        ("crm.db", "SELECT 1", "is not the URL of a database"),
        ("{database}", "SELECT town FROM visits", "the query failed: no such column: town"),
        ("{database}", "CREATE TABLE other (x)", "must be a SELECT"),
        ("nodriver://user:secret@host/db", "SELECT 1", "nodriver"),
    ],
)
def test_queries_that_fail_are_reported(database: str, url: str, query: str, message: str):
    with pytest.raises(DataError, match=message) as caught:
        import_dataset(url.format(database=database), query=query)
    assert "secret" not in str(caught.value)


def test_without_the_driver_of_postgresql_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'titer\[postgres\]'"):
        import_dataset("postgresql://user@localhost/crm", query="SELECT 1")


@pytest.mark.parametrize("query", ["SELECT who FROM visits", "SELECT town FROM visits", "CREATE TABLE other (x)"])
def test_a_query_leaves_no_connection_open(database: str, query: str, tmp_path: Path):
    seen: list[str] = []
    listeners = {name: lambda *_, name=name: seen.append(name) for name in ("connect", "close")}
    for name, listener in listeners.items():
        event.listen(Pool, name, listener)
    try:
        with suppress(DataError):
            run_query(database, query, tmp_path / "result.arrow")
    finally:
        for name, listener in listeners.items():
            event.remove(Pool, name, listener)
    assert seen == ["connect", "close"]
