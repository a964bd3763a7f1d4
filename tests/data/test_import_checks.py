"""Times that would spoil forecasts, and names that are probably not meant."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import invoke
from data.samples import INTERVAL, write_table
from titer.data.facts import Facts
from titer.data.import_checks import check_table
from titer.data.importing import import_dataset
from titer.data.readers.options import TableOptions
from titer.data.readers.tables import Table
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError

TODAY = date(2020, 1, 1)
AXIS = TimeAxis(TimeUnit.DAY, "2019-01-01")
DAILY = list(range(300))


def table(steps: list[int], axis: TimeAxis = AXIS, entities: tuple[str, ...] = ("a", "b")) -> Table:
    zeros = np.zeros(len(steps), dtype=np.int32)
    facts = Facts(zeros, zeros, zeros + 1, np.array(sorted(steps)))
    return Table(facts, Vocabulary(entities, ["r"]), axis, 0, num_rows=len(steps))


def warnings_of(steps: list[int], **options: object) -> list[str]:
    chosen = TableOptions(**options)  # pyright: ignore[reportArgumentType]
    return check_table(table(steps), chosen, accept=True, today=TODAY)


def test_steady_facts_of_the_past_need_no_warning():
    assert warnings_of(DAILY) == []


@given(steps=st.lists(st.integers(0, 364), min_size=1, max_size=10))
def test_a_few_facts_of_the_past_need_no_warning(steps: list[int]):
    assert warnings_of(steps) == []


def test_an_outlier_in_the_future_is_refused_with_the_option_that_leaves_it_out():
    steps = [*DAILY, 15_000]
    with pytest.raises(DataError, match=r"facts far after the others \(1\): the rest ends at 2019-10-27") as caught:
        check_table(table(steps), TableOptions(), today=TODAY)
    assert "--latest 2019-10-27 leaves them out" in str(caught.value)
    assert "--yes imports the file as it is" in str(caught.value)
    assert len(warnings_of(steps)) == 1


def test_an_outlier_of_the_past_is_only_a_warning():
    (warning,) = check_table(table([*range(100), 360]), TableOptions(), today=TODAY)
    assert "far after the others" in warning


@given(extra=st.integers(31, 100_000))
def test_a_distant_last_fact_is_found_wherever_it_is(extra: int):
    warnings = warnings_of([*DAILY, 300 + 75 + extra])
    assert any("far after the others" in warning for warning in warnings)


def test_dates_after_today_are_a_warning():
    (warning,) = warnings_of(list(range(400)))
    assert warning.startswith("34 of 400 facts are after today, the last in 4 Feb 2020; --latest 2020-01-01")


def test_two_digit_years_in_the_future_are_refused():
    steps = list(range(400))
    with pytest.raises(DataError, match=r"two-digit years reach into the future.*--pivot-year 2020"):
        check_table(table(steps), TableOptions(date_format="%d.%m.%y"), today=TODAY)
    given = TableOptions(date_format="%d.%m.%y", pivot_year=2020)
    assert "two-digit" not in "".join(check_table(table(steps), given, accept=True, today=TODAY))


def test_a_long_gap_is_a_warning():
    (warning,) = warnings_of([*range(50), *range(200, 300)])
    assert warning.startswith("there are no facts for 150 days between 2019-02-19 and 2019-07-20")


@pytest.mark.parametrize(
    ("origin", "stride", "hint"),
    [(1420070400, 86400, "--date-format unix "), (20190101, 1, "--date-format %Y%m%d"), (1990, 1, "--unit year")],
)
def test_integers_that_look_like_dates_are_a_warning(origin: int, stride: int, hint: str):
    axis = TimeAxis(TimeUnit.INTEGER, origin, stride)
    (warning,) = check_table(table(list(range(20)), axis), TableOptions(), today=TODAY)
    assert hint in warning
    assert check_table(table(list(range(20)), axis), TableOptions(unit=TimeUnit.INTEGER), today=TODAY) == []


def test_words_for_missing_values_among_the_names_are_a_warning():
    (warning,) = check_table(table(DAILY, entities=("NA", "Ada")), TableOptions(), today=TODAY)
    assert warning == "'NA' is taken as a name; --missing NA treats it as no value"


def terms(folder: Path, years: int) -> Path:
    start = date(1950, 1, 1)
    ends = [start + timedelta(days=365 * years)] * 100
    return write_table(
        folder / "t.csv", [(f"p{i}", "r", "b", str(start), str(end)) for i, end in enumerate(ends)], INTERVAL
    )


@pytest.mark.slow
def test_intervals_that_become_many_facts_are_refused_unless_the_unit_is_given(tmp_path: Path):
    path = terms(tmp_path, 40)
    with pytest.raises(DataError, match=r"100 rows would become 1,460,100 facts.*--unit month") as caught:
        import_dataset(path)
    assert "--unit day keeps these" in str(caught.value)
    assert len(import_dataset(path, unit="month").facts) == 100 * 480
    assert len(import_dataset(path, unit="day").facts) == 1_460_100
    result = invoke("data", "import", path, "--out", tmp_path / "out", "--yes")
    assert result.exit_code == 0
    assert "1,168,100 / 146,000 / 146,000" in result.stdout


def test_the_command_prints_warnings_and_refuses_what_is_surely_wrong(tmp_path: Path):
    days = [date(2001, 1, 1) + timedelta(days=i) for i in range(50)]
    path = write_table(tmp_path / "f.csv", [("a", "r", "b", f"{day:%d.%m.%y}") for day in [*days, date(2060, 12, 1)]])
    words = ("data", "import", path, "--out", tmp_path / "out", "--date-format", "%d.%m.%y")
    refused = invoke(*words)
    assert "two-digit years reach into the future, to 1 Dec 2060" in str(refused.exception)
    assert not (tmp_path / "out").exists()
    accepted = invoke(*words, "--yes")
    assert accepted.exit_code == 0
    assert "warning: two-digit years" in accepted.stderr
    right = invoke(*words, "--pivot-year", "2026", "--overwrite")
    assert "two-digit" not in right.stderr


def test_options_with_dates_accept_the_format_of_the_file(tmp_path: Path):
    days = [date(2015, 1, 1) + timedelta(days=i) for i in range(30)]
    path = write_table(tmp_path / "f.csv", [("a", "r", "b", f"{day:%d/%m/%Y}") for day in days])
    dataset = import_dataset(
        path, date_format="%d/%m/%Y", earliest="03/01/2015", latest="2015-01-20", valid_from="15/01/2015",
        test_from="2015-01-18",
    )  # fmt: skip
    assert [len(facts) for facts in dataset.splits.values()] == [12, 3, 3]
