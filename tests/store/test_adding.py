"""Facts added from files and from dictionaries."""

import csv
from pathlib import Path

import pytest

from data.samples import FORMATS, INTERVAL, write_table
from store.samples import dataset, visit
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.readers.tables import TableOptions
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.store.adding import BadFactsError, add_file, add_records
from titer.store.facts import FactStore, NamedFact

GOOD = [("Ada", "visit", "Ben", "2018-10-07"), ("Dan", "praise", "Ada", "2018-10-08T13:00")]


@pytest.fixture
def store(address: str):
    with FactStore(address, dataset()) as opened:
        yield opened


def stored(store: FactStore) -> list[NamedFact]:
    return [fact for _, fact, _ in store.since(0)]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_files_of_every_format_can_be_added(store: FactStore, tmp_path: Path, format: str):
    result = add_file(store, write_table(tmp_path / f"new.{format}", GOOD))
    assert result.added.added == 2
    assert stored(store) == [visit("Ada", "Ben", 6), NamedFact("Dan", "praise", "Ada", 7)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("Ada", "marry", "Ben", "2018-10-09"), "row 4, column 'relation': unknown relation 'marry'"),
        (("Ada", "vist", "Ben", "2018-10-09"), "unknown relation 'vist'; did you mean 'visit'?"),
        (("Ada", "visit", "", "2018-10-09"), "row 4, column 'object': empty"),
        (("Ada", "visit", "Ben", "soon"), "row 4, column 'time': 'soon' is not a date"),
        (("Ada", "visit", "Ben", "2018"), "row 4, column 'time': '2018' names only a year"),
        (("Ada", "visit", "Ben", "2018-10-03"), "row 4: 2018-10-03 is 2 days before the last known step, 2018-10-05"),
    ],
)
def test_a_bad_row_is_reported_and_nothing_is_stored(store: FactStore, tmp_path: Path, row, message: str):
    file = write_table(tmp_path / "new.csv", [*GOOD, row])
    with pytest.raises(DataError) as refused:
        add_file(store, file)
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{file}, ")
    assert store.last_sequence == 0
    assert not list(tmp_path.glob("*.rejected.csv"))
    result = add_file(store, file, skip_bad_rows=True)
    assert (result.added.added, len(result.rejections)) == (2, 1)
    assert result.rejected_file is not None
    with result.rejected_file.open(encoding="utf-8") as text:
        (written,) = csv.DictReader(text)
    assert (written["rejected_row"], written["rejected_file"]) == ("4", str(file))
    assert written["rejected_reason"] in str(refused.value)


def test_backfill_accepts_earlier_facts(store: FactStore, tmp_path: Path):
    file = write_table(tmp_path / "old.csv", [("Ada", "praise", "Dan", "2018-09-30")])
    assert add_file(store, file, backfill=True).added.backfilled == 1
    assert stored(store) == [NamedFact("Ada", "praise", "Dan", -1)]


def test_an_interval_is_added_for_every_step_or_refused_completely(store: FactStore, tmp_path: Path):
    rows = [("Ada", "visit", "Dan", "2018-10-06", "2018-10-08"), ("Ada", "visit", "Eve", "2018-10-03", "2018-10-06")]
    file = write_table(tmp_path / "lasting.csv", rows, INTERVAL)
    with pytest.raises(DataError, match="row 3: 2018-10-03 is 2 days before"):
        add_file(store, file)
    result = add_file(store, file, skip_bad_rows=True)
    assert [problem.row for problem in result.rejections.problems] == [3]
    assert stored(store) == [visit("Ada", "Dan", step) for step in (5, 6, 7)]
    # Cut at a date, the rest of the interval is accepted.
    options = TableOptions(earliest="2018-10-08")
    assert add_file(store, write_table(tmp_path / "cut.csv", rows[:1], INTERVAL), options=options).added.known == 1


def test_numbers_must_be_on_the_time_axis(address: str, tmp_path: Path):
    axis = TimeAxis(TimeUnit.INTEGER, 0, stride=24)
    facts = Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 1)])
    numbered = Dataset("hours", Vocabulary(["a", "b"], ["r"]), axis, facts, Facts.empty(), Facts.empty())
    with FactStore(address, numbered) as store:
        good, bad = ("a", "r", "b", "72"), ("a", "r", "b", "71")
        with pytest.raises(DataError, match="row 3, column 'time': times must be 0 plus a multiple of 24"):
            add_file(store, write_table(tmp_path / "new.csv", [good, bad]))
        assert add_records(store, [{"subject": "a", "relation": "r", "object": "c", "time": 72}]).added == 1
        assert stored(store) == [NamedFact("a", "r", "c", 3)]


def test_another_time_unit_and_an_existing_file_are_refused(store: FactStore, tmp_path: Path):
    file = write_table(tmp_path / "new.csv", GOOD)
    with pytest.raises(DataError, match="here it is the day"):
        add_file(store, file, options=TableOptions(unit=TimeUnit.YEAR))
    with pytest.raises(DataError, match="already exists"):
        add_file(store, file, rejected_file=file)


def test_records_are_checked_like_the_rows_of_a_file(store: FactStore):
    good = {"subject": "Ada", "relation": "visit", "object": "Dan", "time": "2018-10-09"}
    bad = [
        {**good, "relation": "marry"},
        {**good, "time": "never"},
        {**good, "object": ["Ben"]},
        {**good, "subject": "\ud800"},
        {**good, "subject": None},
    ]
    with pytest.raises(BadFactsError) as refused:
        add_records(store, [good, *bad])
    assert [(problem.row, problem.column) for problem in refused.value.problems] == [
        (2, "relation"),
        (3, "time"),
        (4, "object"),
        (5, "subject"),
        (6, "subject"),
    ]
    with pytest.raises(BadFactsError, match="facts, row 1, column 'time'"):
        add_records(store, [{**good, "time": "never"}])
    with pytest.raises(BadFactsError, match="facts, row 2: 2018-10-02 is 3 days before"):
        add_records(store, [good, {**good, "time": "2018-10-02"}])
    with pytest.raises(BadFactsError, match="zero byte"):
        add_records(store, [{**good, "subject": "A\0da"}])
    with pytest.raises(DataError, match="facts: no fact was given"):
        add_records(store, [])
    with pytest.raises(DataError, match="no column 'time'"):
        add_records(store, [{"subject": "Ada", "relation": "visit", "object": "Ben"}])
    assert store.last_sequence == 0
    assert add_records(store, [good, good]).added == 1
