"""``titer data import`` from files to a dataset."""

import csv
import json
from pathlib import Path

import pytest

from commands import invoke, titer
from data.samples import BENCHMARK, INTERVAL, write_benchmark, write_table
from titer.data.dataset_folder import open_dataset
from titer.data.load import load_dataset
from titer.errors import DataError

DAYS = [f"2018-10-{day:02d}" for day in range(1, 11)]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path / "facts.csv", [("Ada", "visit", "Ben", day) for day in DAYS])


def labels(path: Path) -> list[list[str]]:
    dataset = open_dataset(path)
    return [[dataset.axis.label(t) for t in facts.time.tolist()] for facts in dataset.splits.values()]


def test_an_imported_table_can_be_shown_and_loaded(table: Path, tmp_path: Path):
    out = tmp_path / "new" / "visits"
    assert (
        titer("data", "import", table, "--out", out)
        == f"{out}: 8 / 1 / 1 facts (train / valid / test), time unit: day\n"
    )
    found = json.loads(titer("data", "info", out, "--json"))
    assert [found[key] for key in ("name", "train", "valid", "test", "entities")] == ["visits", 8, 1, 1, 2]
    assert load_dataset(str(out)).vocabulary.entities == ["Ada", "Ben"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["visits"]


def test_shares_split_between_time_steps(table: Path, tmp_path: Path):
    titer("data", "import", table, "--out", tmp_path / "out", "--split", "0.5,0.3,0.2")
    assert labels(tmp_path / "out") == [DAYS[:5], DAYS[5:8], DAYS[8:]]


def test_dates_split_at_the_given_dates(table: Path, tmp_path: Path):
    cuts = ("--valid-from", "2018-10-04", "--test-from", "2018-10-06")
    titer("data", "import", table, "--out", tmp_path / "out", *cuts)
    assert labels(tmp_path / "out") == [DAYS[:3], DAYS[3:5], DAYS[5:]]


def test_all_options_for_reading_a_table(tmp_path: Path):
    (tmp_path / "facts.dat").write_bytes("Éva;04.10.2018;Zoë;visité\nÉva;11.10.2018;Zoë;visité\n".encode("latin-1"))
    titer(
        "data", "import", tmp_path / "facts.dat", "--out", tmp_path / "out", "--name", "visits",
        "--names", "who, when, whom, what", "--delimiter", ";", "--encoding", "latin-1",
        "--column", "subject=who", "--column", "object = whom", "--column", "relation=what", "--column", "time=when",
        "--date-format", "%d.%m.%Y", "--unit", "week", "--split", "1,0,0",
    )  # fmt: skip
    dataset = open_dataset(tmp_path / "out")
    assert dataset.name == "visits"
    assert (dataset.vocabulary.entities, dataset.vocabulary.relations) == (["Éva", "Zoë"], ["visité"])
    assert labels(tmp_path / "out") == [["2018-10-01", "2018-10-08"], [], []]


def test_a_tab_can_be_written_as_backslash_t(tmp_path: Path):
    (tmp_path / "facts.csv").write_text("subject\trelation\tobject\ttime\na\tr\tb\t2018\n")
    titer("data", "import", tmp_path / "facts.csv", "--out", tmp_path / "out", "--delimiter", "\\t", "--split", "1,0,0")
    assert labels(tmp_path / "out")[0] == ["2018"]


def test_facts_that_last_are_cut_to_the_dates_to_keep(tmp_path: Path):
    rows = [
        ("a", "r", "b", "####-##-##", "1788-##-##"),
        ("a", "r", "c", "2016-##-##", ""),
        ("b", "r", "c", "2020", "2021"),
    ]
    table = write_table(tmp_path / "facts.csv", rows, INTERVAL)
    titer(
        "data", "import", table, "--out", tmp_path / "out", "--earliest", "1786", "--latest", "2017", "--split", "1,0,0"
    )
    assert labels(tmp_path / "out")[0] == ["1786", "1787", "1788", "2016", "2017"]
    assert open_dataset(tmp_path / "out").train.time.tolist() == [0, 1, 2, 230, 231]


def test_a_benchmark_folder_keeps_its_splits_and_ids(tmp_path: Path):
    folder = write_benchmark(tmp_path / "bench")
    titer("data", "import", folder, "--out", tmp_path / "out", "--name", "mine")
    stored, read = open_dataset(tmp_path / "out"), load_dataset(folder)
    assert stored.name == "mine"
    assert stored.splits == read.splits
    assert stored.vocabulary.entities == read.vocabulary.entities
    assert stored.checksum == read.checksum


def test_bad_rows_of_a_benchmark_folder_are_skipped_and_listed(tmp_path: Path):
    folder = write_benchmark(tmp_path / "bench", train=BENCHMARK["train.txt"] + "0\t0\t9\t48\n0\t0\n")
    result = invoke("data", "import", folder, "--out", tmp_path / "out")
    assert isinstance(result.exception, DataError)
    assert not (tmp_path / "out").exists()
    titer("data", "import", folder, "--out", tmp_path / "out", "--bad-rows", "skip")
    with (tmp_path / "out.rejected.csv").open(newline="") as file:
        rows = [(row["rejected_row"], row["rejected_column"]) for row in csv.DictReader(file)]
    assert rows == [("4", "object"), ("5", "")]
    assert len(open_dataset(tmp_path / "out").train) == 3


def test_an_existing_dataset_is_replaced_only_with_overwrite(table: Path, tmp_path: Path):
    out = tmp_path / "out"
    titer("data", "import", table, "--out", out, "--name", "first")
    result = invoke("data", "import", table, "--out", out)
    assert isinstance(result.exception, DataError)
    assert "pass overwrite" in str(result.exception)
    assert open_dataset(out).name == "first"
    titer("data", "import", table, "--out", out, "--name", "second", "--overwrite")
    assert open_dataset(out).name == "second"


def test_a_failed_import_keeps_the_existing_dataset(table: Path, tmp_path: Path):
    out = tmp_path / "out"
    titer("data", "import", table, "--out", out, "--name", "first")
    table.write_text(table.read_text() + "Ada,visit,Ben,soon\n")
    result = invoke("data", "import", table, "--out", out, "--overwrite")
    assert isinstance(result.exception, DataError)
    assert open_dataset(out).name == "first"


def test_only_a_dataset_folder_is_overwritten(table: Path, tmp_path: Path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "letters.txt").write_text("Hello Ada")
    for out in (tmp_path / "precious", table):
        result = invoke("data", "import", table, "--out", out, "--overwrite")
        assert isinstance(result.exception, DataError)
        assert "only a dataset folder can be overwritten" in str(result.exception)
    assert (tmp_path / "precious" / "letters.txt").read_text() == "Hello Ada"
    assert table.is_file()
