"""Time steps, dates, and the parsing of dates."""

from datetime import date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from titer.data.partial_date import PartialDate
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError

DATED = [unit for unit in TimeUnit if unit is not TimeUnit.INTEGER]


def span(text: str, date_format: str | None = None) -> tuple[str, str, str]:
    parsed = PartialDate.parse(text, date_format)
    assert parsed is not None
    return str(parsed.first), str(parsed.last), parsed.unit


def start_of(when: datetime, unit: TimeUnit) -> datetime:
    """Return the start of the period that contains a date."""
    hour = when.replace(minute=0, second=0, microsecond=0)
    day = hour.replace(hour=0)
    return {
        TimeUnit.HOUR: hour,
        TimeUnit.DAY: day,
        TimeUnit.WEEK: day - timedelta(days=day.weekday()),
        TimeUnit.MONTH: day.replace(day=1),
        TimeUnit.QUARTER: day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        TimeUnit.YEAR: day.replace(month=1, day=1),
    }[unit]


def steps_between(origin: datetime, when: datetime, unit: TimeUnit) -> int:
    first, last = start_of(origin, unit), start_of(when, unit)
    years, months = last.year - first.year, last.month - first.month
    hours = (last - first) // timedelta(hours=1)
    return {
        TimeUnit.HOUR: hours,
        TimeUnit.DAY: hours // 24,
        TimeUnit.WEEK: hours // 168,
        TimeUnit.MONTH: 12 * years + months,
        TimeUnit.QUARTER: (12 * years + months) // 3,
        TimeUnit.YEAR: years,
    }[unit]


def axis_at(when: datetime, unit: TimeUnit) -> TimeAxis:
    return TimeAxis.starting_at(unit, np.datetime64(when, "h"))


# Python's calendar and ISO dates of four digits end in the same year; a week may begin in the year before.
datetimes = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31))


@pytest.mark.parametrize("unit", DATED)
@given(origin=datetimes, when=datetimes)
def test_steps_are_counted_as_in_the_calendar(unit: TimeUnit, origin: datetime, when: datetime):
    axis = axis_at(origin, unit)
    expected = steps_between(origin, when, unit)
    assert axis.step(when) == expected
    assert axis.step(when.isoformat(" ")) == expected
    assert int(axis.steps_of_hours(np.datetime64(when, "h"))) == expected


@pytest.mark.parametrize("unit", DATED)
@given(origin=datetimes, when=datetimes)
def test_labels_of_steps_are_parsed_to_the_same_steps(unit: TimeUnit, origin: datetime, when: datetime):
    axis = axis_at(origin, unit)
    step = steps_between(origin, when, unit)
    label = axis.label(step)
    assert axis.step(label) == step
    start = start_of(when, unit)
    if unit is TimeUnit.QUARTER:
        assert label == f"{start.year:04d}-Q{start.month // 3 + 1}"
    else:
        written = str(np.datetime64(start, unit.code)).replace("T", " ")
        assert label == written + (":00" if unit is TimeUnit.HOUR else "")
    if start.year >= 1000:  # a shorter year could be one of two digits
        assert axis.step(axis.words(step)) == step


numbers = st.integers(-(10**6), 10**6)


@given(origin=numbers, stride=st.integers(1, 1000), steps=st.lists(numbers, min_size=1))
def test_labels_of_integers_are_parsed_to_the_same_steps(origin: int, stride: int, steps: list[int]):
    axis = TimeAxis(TimeUnit.INTEGER, origin, stride)
    written = [origin + stride * step for step in steps]
    assert axis.steps_of_integers(np.array(written)).tolist() == steps
    assert [axis.step(number) for number in written] == steps
    assert [axis.step(axis.label(step)) for step in steps] == steps
    assert [axis.label(step) for step in steps] == [str(number) for number in written]


def test_a_number_between_two_steps_is_rejected():
    with pytest.raises(DataError, match="0 plus a multiple of 24"):
        TimeAxis(TimeUnit.INTEGER, 0, 24).step(25)


def test_a_date_on_an_axis_of_integers_is_rejected():
    with pytest.raises(DataError, match="'2018-10-04' is not a 64-bit integer"):
        TimeAxis().step("2018-10-04")


@pytest.mark.parametrize("unit", TimeUnit)
@given(when=datetimes)
def test_an_axis_is_restored_from_its_dictionary(unit: TimeUnit, when: datetime):
    axis = TimeAxis(unit, when.year, 7) if unit is TimeUnit.INTEGER else axis_at(when, unit)
    assert TimeAxis(**axis.to_dict()) == axis  # pyright: ignore[reportArgumentType]


@given(when=datetimes)
def test_weeks_begin_on_monday(when: datetime):
    axis = axis_at(when, TimeUnit.WEEK)
    assert date.fromisoformat(str(axis.origin)).weekday() == 0
    assert axis.step(when) == 0


@given(when=datetimes)
def test_an_iso_week_spans_seven_days(when: datetime):
    year, week, weekday = when.isocalendar()
    monday = when.date() - timedelta(days=weekday - 1)
    expected = (f"{monday}T00", f"{monday + timedelta(days=6)}T23", TimeUnit.WEEK)
    assert span(f"{year:04d}-W{week:02d}") == expected
    assert span(f"{year:04d}W{week:02d}") == expected


@given(when=datetimes, minutes=st.integers(-14 * 60, 14 * 60))
def test_hours_with_a_time_zone_are_converted_to_utc(when: datetime, minutes: int):
    local = when.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    expected = str(np.datetime64(when - timedelta(minutes=minutes), "h"))
    assert span(local.isoformat()) == (expected, expected, TimeUnit.HOUR)
    sign, ahead = "-" if minutes < 0 else "+", abs(minutes)
    zone = f"{sign}{ahead // 60:02d}{ahead % 60:02d}"
    assert span(f"{when.year}/{when:%m/%d} {when.hour}:{when:%M} {zone}")[0] == expected
    assert span(f"{when.year}-{when:%m-%dT%H%M%S}{zone}")[0] == expected
    assert span(f"{when:%d.%m}.{when.year:04d} {when:%H:%M} {zone}", "%d.%m.%Y %H:%M %z")[0] == expected


@pytest.mark.parametrize(
    ("text", "first", "last", "unit"),
    [
        ("1926", "1926-01-01T00", "1926-12-31T23", "year"),
        ("1926-##-##", "1926-01-01T00", "1926-12-31T23", "year"),
        ("1926-##-05", "1926-01-01T00", "1926-12-31T23", "year"),
        ("1926-02", "1926-02-01T00", "1926-02-28T23", "month"),
        ("1924-02-##", "1924-02-01T00", "1924-02-29T23", "month"),
        ("2018/10/4", "2018-10-04T00", "2018-10-04T23", "day"),
        ("2018-10-04", "2018-10-04T00", "2018-10-04T23", "day"),
        ("2018-10-04T13", "2018-10-04T13", "2018-10-04T13", "hour"),
        ("2018/10/04 13:59", "2018-10-04T13", "2018-10-04T13", "hour"),
        ("2018-10-04T13:59:59.999Z", "2018-10-04T13", "2018-10-04T13", "hour"),
        ("2018-10-04 00:10:00+00", "2018-10-04T00", "2018-10-04T00", "hour"),
        ("2018-10-04T00:10-01", "2018-10-04T01", "2018-10-04T01", "hour"),
    ],
)
def test_the_span_of_a_date_follows_from_its_precision(text: str, first: str, last: str, unit: str):
    assert span(text) == (first, last, unit)


@pytest.mark.parametrize(
    ("text", "date_format", "first", "unit"),
    [
        ("04.10.2018", "%d.%m.%Y", "2018-10-04T00", "day"),
        ("Oct 4, 2018", "%b %d, %Y", "2018-10-04T00", "day"),
        ("2018277", "%Y%j", "2018-10-04T00", "day"),
        ("10/2018", "%m/%Y", "2018-10-01T00", "month"),
        ("'18", "'%y", "2018-01-01T00", "year"),
        ("4.10.2018 1 PM", "%d.%m.%Y %I %p", "2018-10-04T13", "hour"),
    ],
)
def test_dates_are_parsed_with_a_format(text: str, date_format: str, first: str, unit: str):
    assert span(text, date_format)[::2] == (first, unit)


@pytest.mark.parametrize("text", ["####-##-##", "####", "##"])
def test_an_unknown_year_is_an_unknown_date(text: str):
    assert PartialDate.parse(text) is None


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "04.10.2018", "20181004", "2018-13", "2018-02-30", "2018-W54", "2018-10-04T25",
     "2018-10-04T10:61", "2018-10-04T10:00+01:75", "19##-01-01", "2018-10-04 noon"],
)  # fmt: skip
def test_text_that_is_not_a_date_is_rejected(text: str):
    with pytest.raises(DataError, match=r"is not a (valid )?(date|week)") as caught:
        PartialDate.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["2018-10-04", "31.02.2018", "01.01.0001 +0500"])
def test_text_that_does_not_match_the_format_is_rejected(text: str):
    date_format = "%d.%m.%Y %z" if "+" in text else "%d.%m.%Y"
    with pytest.raises(DataError, match="does not match the date format"):
        PartialDate.parse(text, date_format)


@pytest.mark.parametrize(
    ("unit", "text"),
    [("day", "2018"), ("day", "2018-10"), ("day", "2018-W05"), ("hour", "2018-10-04"), ("month", "2018")],
)
def test_a_date_that_spans_several_steps_is_rejected(unit: str, text: str):
    with pytest.raises(DataError, match=f"names only a .*, but one time step is one {unit}"):
        TimeAxis(TimeUnit(unit), "2018-01-01").step(text)


def test_an_unknown_date_has_no_step():
    with pytest.raises(DataError, match="not a known date"):
        TimeAxis(TimeUnit.YEAR, "1786").step("####")


@pytest.mark.parametrize(
    ("unit", "origin", "stride", "message"),
    [
        ("integer", "1786", 1, "needs an integer as origin"),
        ("integer", 0, 0, "a stride of at least 1"),
        ("day", "2018-01-01", 24, "unit day has a stride of 1, not 24"),
        ("day", "####-##-##", 1, "must be a known date, not '####-##-##'"),
        ("day", "then", 1, "'then' is not a date"),
    ],
)
def test_an_impossible_axis_is_rejected(unit: str, origin: str | int, stride: int, message: str):
    with pytest.raises(DataError, match=message):
        TimeAxis(TimeUnit(unit), origin, stride)


@pytest.mark.parametrize(
    ("unit", "origin", "step", "words"),
    [
        ("hour", "2018-10-04T00", 13, "4 Oct 2018, 13:00"),
        ("day", "2018-10-01", 3, "4 Oct 2018"),
        ("week", "2018-10-01", 1, "week of 8 Oct 2018"),
        ("month", "2018-01", 9, "Oct 2018"),
        ("year", "2018", 1, "2019"),
        ("integer", 100, 5, "105"),
    ],
)
def test_steps_in_words(unit: str, origin: str | int, step: int, words: str):
    assert TimeAxis(TimeUnit(unit), origin).words(step) == words


def test_a_duration_counts_units():
    assert TimeAxis(TimeUnit.DAY, "2018-01-01").duration(1) == "1 day"
    assert TimeAxis(TimeUnit.WEEK, "2018-01-01").duration(3) == "3 weeks"
    assert TimeAxis(TimeUnit.INTEGER, 0, 24).duration(2) == "2 steps"
