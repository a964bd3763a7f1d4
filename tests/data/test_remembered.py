"""A dataset remembers how it was imported."""

import csv
from pathlib import Path

import pytest

from data.samples import INTERVAL, write_table
from titer.data.dataset_folder import open_dataset, read_mapping
from titer.data.importing import import_dataset
from titer.data.readers.options import TableOptions
from titer.data.readers.remembered import continued
from titer.errors import DataError
from titer.forecasting.question import Question
from titer.forecasting.question_files import read_questions
from titer.store.adding import add_file
from titer.store.facts import FactStore

COLUMNS = ("who", "did", "whom", "when")
ROWS = [("Ada", "visits", "Ben", f"{day:02d}.10.2018") for day in range(1, 11)]
OPTIONS = {
    "columns": {"subject": "who", "relation": "did", "object": "whom", "time": "when"},
    "date_format": "%d.%m.%Y",
    "merge_names": True,
    "missing": ["NA"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import_dataset(write_table(tmp_path / "facts.csv", ROWS, COLUMNS), tmp_path / "data", **OPTIONS)
    return tmp_path / "data"


def added(folder: Path, file: Path, **options: object) -> list[tuple[str, ...]]:
    dataset = open_dataset(folder)
    chosen = TableOptions(**options)  # pyright: ignore[reportArgumentType]
    with FactStore(folder.parent / f"{file.stem}.db", dataset) as store:
        add_file(store, file, options=chosen)
        return [(*fact[:3], dataset.axis.label(fact.step)) for _, fact, _ in store.last_added(10)]


def test_the_mapping_is_kept_in_the_dataset_folder(folder: Path):
    mapping = open_dataset(folder).mapping
    assert mapping == TableOptions(**OPTIONS)  # pyright: ignore[reportArgumentType]


def test_columns_with_the_usual_names_are_remembered_too(tmp_path: Path):
    rows = [("a", "r", "b", "2001-01-01", "2001-02-01")]
    dataset = import_dataset(write_table(tmp_path / "f.csv", rows, INTERVAL), tmp_path / "out", split=(1, 0, 0))
    assert dataset.lasting
    assert open_dataset(tmp_path / "out").lasting
    assert dataset.mapping is not None
    assert dataset.mapping.columns == {part: part for part in INTERVAL}


def test_later_files_are_read_like_those_of_the_import(folder: Path, tmp_path: Path):
    file = write_table(tmp_path / "new.csv", [("ADA", "Visits", "Cleo", "12.10.2018")], COLUMNS)
    assert added(folder, file) == [("Ada", "visits", "Cleo", "2018-10-12")]


def test_later_files_may_have_the_usual_columns_and_iso_dates(folder: Path, tmp_path: Path):
    usual = write_table(tmp_path / "usual.csv", [("Ada", "visits", "Cleo", "2018-10-12")])
    assert added(folder, usual) == [("Ada", "visits", "Cleo", "2018-10-12")]
    iso = write_table(tmp_path / "iso.csv", [("Ada", "visits", "Cleo", "2018-10-13")], COLUMNS)
    assert added(folder, iso) == [("Ada", "visits", "Cleo", "2018-10-13")]


def test_options_take_precedence(folder: Path, tmp_path: Path):
    file = write_table(
        tmp_path / "n.csv", [("Ada", "visits", "Cleo", "Dan", "12.10.2018")], (*COLUMNS[:3], "x", "when")
    )
    assert added(folder, file, columns={"object": "x"}) == [("Ada", "visits", "Dan", "2018-10-12")]


def test_a_file_without_the_columns_is_an_error_that_names_them(folder: Path, tmp_path: Path):
    file = write_table(tmp_path / "n.csv", [("Ada", "visits")], ("who", "did"))
    with pytest.raises(DataError, match="no column"):
        added(folder, file)


def test_the_range_of_an_import_does_not_limit_later_facts(tmp_path: Path):
    path = write_table(tmp_path / "f.csv", ROWS, COLUMNS)
    dataset = import_dataset(path, latest="05.10.2018", unit="day", **OPTIONS)
    options = continued(dataset, TableOptions(constants={"relation": "visits"}))
    assert (options.latest, options.unit) == (None, None)
    assert options.constants == {"relation": "visits"}
    assert "relation" not in options.columns


def test_a_folder_of_an_earlier_version_has_no_mapping(tmp_path: Path):
    dataset = import_dataset(write_table(tmp_path / "f.csv", ROWS, COLUMNS), **OPTIONS)
    assert dataset.mapping is not None
    assert continued(type(dataset)(dataset.name, dataset.vocabulary, dataset.axis, *dataset.splits.values())) == (
        TableOptions()
    )


def test_attributes_are_kept_with_their_facts(tmp_path: Path):
    rows = [("Ada", "visits", "Ben", f"2018-10-{day:02d}", f"town {day}", "") for day in range(10, 0, -1)]
    path = write_table(tmp_path / "f.csv", rows, ("subject", "relation", "object", "time", "town", "Note"))
    dataset = import_dataset(path, tmp_path / "out", attributes=["town", "note"])
    for each in (dataset, open_dataset(tmp_path / "out")):
        assert each.attributes is not None
        assert each.attributes.names == ["town", "note"]
        for fact in each.facts:
            day = int(each.axis.label(fact[3])[-2:])
            assert each.attributes.find(each.facts, fact) == {"town": f"town {day}"}
        assert each.attributes.find(each.facts, (1, 0, 0, 0)) == {}
    with pytest.raises(DataError, match="no column 'city'"):
        import_dataset(path, attributes=["city"])


def test_a_weight_is_the_number_of_times_a_fact_counts(tmp_path: Path):
    rows = [
        ("a", "r", "b", "1", "3"),
        ("b", "r", "a", "2", "1.2"),
        ("a", "r", "a", "3", "0"),
        ("b", "r", "b", "4", "x"),
    ]
    path = write_table(tmp_path / "f.csv", rows, ("subject", "relation", "object", "time", "weight"))
    with pytest.raises(DataError, match="row 5, column 'weight': 'x' is not a number"):
        import_dataset(path, columns={"weight": "weight"})
    with pytest.warns(UserWarning, match="rows skipped: 1"):
        dataset = import_dataset(path, columns={"weight": "weight"}, skip_bad_rows=True, split=(1, 0, 0))
    assert dataset.facts.time.tolist() == [0, 0, 0, 1]
    assert len(import_dataset(path, split=(1, 0, 0)).facts) == 4  # without the option, a weight is another column


def test_rejected_rows_of_an_attribute_keep_their_columns(tmp_path: Path):
    rows = [("a", "r", "b", str(i), "x") for i in range(5)] + [("a", "r", "", "9", "y")]
    path = write_table(tmp_path / "f.csv", rows, ("subject", "relation", "object", "time", "tag"))
    with pytest.warns(UserWarning, match="rows skipped"):
        import_dataset(path, tmp_path / "out", attributes=["tag"], skip_bad_rows=True)
    with (tmp_path / "out.rejected.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["tag"] == "y"


def test_questions_are_read_like_the_files_of_the_import(tmp_path: Path):
    mapping = TableOptions(
        columns={"subject": "who", "object": "whom", "time": "when"},
        constants={"relation": "visits"},
        date_format="%d.%m.%Y",
        delimiter=";",
    )
    (tmp_path / "q.csv").write_text("who;when\nAda;12.10.2018\nBen;2018-10-13\nCleo;\n")
    assert list(read_questions(tmp_path / "q.csv", mapping)) == [
        Question("Ada", "visits", None, "2018-10-12"),
        Question("Ben", "visits", None, "2018-10-13"),
        Question("Cleo", "visits", None, None),
    ]
    (tmp_path / "usual.csv").write_text("subject,relation,time\nAda,calls,2018-10-12\n")
    assert list(read_questions(tmp_path / "usual.csv", mapping)) == [Question("Ada", "calls", None, "2018-10-12")]
    (tmp_path / "bad.csv").write_text("x;y\n1;2\n")
    with pytest.raises(DataError, match="questions need a column"):
        read_questions(tmp_path / "bad.csv", mapping)


def test_the_mapping_is_read_without_the_facts(folder: Path, tmp_path: Path):
    assert read_mapping(folder) == open_dataset(folder).mapping
    assert read_mapping(tmp_path / "nowhere") is None
