"""``import_dataset`` from Python."""

from pathlib import Path

import pytest

from data.samples import content, write_benchmark, write_table
from titer.data.dataset_folder import open_dataset
from titer.data.importing import import_dataset
from titer.data.time_axis import TimeUnit
from titer.errors import DataError

ROWS = [("Ada", "visit", "Ben", f"2018-10-{day:02d}") for day in range(1, 11)]
BAD = "Ada,visit,Ben,soon\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path / "facts.csv", ROWS)


def test_a_path_as_text_gives_a_dataset_in_memory(table: Path, tmp_path: Path):
    dataset = import_dataset(str(table))
    assert (dataset.name, len(dataset.train), len(dataset.valid), len(dataset.test)) == ("facts", 8, 1, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["facts.csv"]


def test_with_out_the_same_dataset_is_also_saved(table: Path, tmp_path: Path):
    dataset = import_dataset(table, str(tmp_path / "visits"))
    saved = open_dataset(tmp_path / "visits")
    assert dataset.name == saved.name == "visits"
    assert content(saved) == content(dataset) == content(import_dataset(table))


def test_several_files_become_one_dataset(tmp_path: Path):
    paths = [write_table(tmp_path / "a.csv", ROWS[:4]), write_table(tmp_path / "b.parquet", ROWS[4:])]
    dataset = import_dataset([str(paths[0]), paths[1]])
    assert dataset.name == "a"
    assert len(dataset.facts) == len(ROWS)


def test_options_are_plain_python_values(tmp_path: Path):
    rows = "Ada;visit;Ben;04.10.2018\nAda;visit;Ben;11.10.2018\nBen;visit;Ada;18.10.2018\n"
    (tmp_path / "facts.dat").write_text(rows, encoding="utf-16")
    dataset = import_dataset(
        tmp_path / "facts.dat",
        name="visits",
        columns={"subject": "who", "relation": "did", "object": "whom", "time": "when"},
        names=("who", "did", "whom", "when"),
        delimiter=";",
        encoding="utf-16",
        unit="week",
        date_format="%d.%m.%Y",
        earliest="2018-10-08",
        latest="2018-10-31",
        split=(1, 0, 0),
    )
    assert (dataset.name, dataset.axis.unit) == ("visits", TimeUnit.WEEK)
    assert [dataset.axis.label(step) for step in dataset.train.time.tolist()] == ["2018-10-08", "2018-10-15"]


def test_splits_begin_at_the_given_dates(table: Path):
    dataset = import_dataset(table, valid_from="2018-10-04", test_from="2018-10-06")
    assert [len(facts) for facts in dataset.splits.values()] == [3, 2, 5]


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ("dayy", r"unknown time unit 'dayy'; did you mean 'day'\?"),
        ("x", "unknown time unit 'x'; known: hour, day, week, month, quarter, year, integer"),
    ],
)
def test_an_unknown_unit_is_rejected_with_a_suggestion(table: Path, unit: str, message: str):
    with pytest.raises(DataError, match=message):
        import_dataset(table, unit=unit)


def test_no_files_are_rejected():
    with pytest.raises(DataError, match="no files to import"):
        import_dataset([])


def test_a_bad_row_is_an_error_and_nothing_is_written(table: Path, tmp_path: Path):
    table.write_text(table.read_text() + BAD)
    with pytest.raises(DataError, match="row 12, column 'time': 'soon' is not a date"):
        import_dataset(table, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["facts.csv"]


def test_skipped_rows_are_a_warning_with_the_first_reason(table: Path, tmp_path: Path):
    table.write_text(table.read_text() + BAD)
    with pytest.warns(UserWarning, match=r"rows skipped: 1; first: .*row 12, column 'time'") as caught:
        dataset = import_dataset(table, skip_bad_rows=True)
    assert caught[0].filename == __file__
    assert len(dataset.facts) == len(ROWS)
    assert [path.name for path in tmp_path.iterdir()] == ["facts.csv"]


@pytest.mark.parametrize("saved", [True, False])
def test_skipped_rows_are_written_to_a_file(table: Path, tmp_path: Path, saved: bool):
    table.write_text(table.read_text() + BAD)
    rejected = tmp_path / ("out.rejected.csv" if saved else "bad.csv")
    with pytest.warns(UserWarning, match=f"see {rejected}; first: "):
        import_dataset(
            table, tmp_path / "out" if saved else None, skip_bad_rows=True, rejected_file=None if saved else rejected
        )
    assert "'soon' is not a date" in rejected.read_text()
    assert (tmp_path / "out").exists() == saved


def test_an_existing_dataset_is_replaced_only_with_overwrite(table: Path, tmp_path: Path):
    import_dataset(table, tmp_path / "out", name="first")
    with pytest.raises(DataError, match="already exists"):
        import_dataset(table, tmp_path / "out", name="second")
    assert open_dataset(tmp_path / "out").name == "first"
    import_dataset(table, tmp_path / "out", name="second", overwrite=True)
    assert open_dataset(tmp_path / "out").name == "second"


def test_a_benchmark_folder_is_imported_with_its_own_splits(tmp_path: Path):
    dataset = import_dataset(str(write_benchmark(tmp_path / "bench")))
    assert dataset.name == "bench"
    assert [len(facts) for facts in dataset.splits.values()] == [3, 1, 1]
