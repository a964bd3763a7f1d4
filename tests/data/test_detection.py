"""Detection of dates, layouts and columns."""

import csv
import io
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titer.data.date_format import read_formatted
from titer.data.detection.columns import guess_columns
from titer.data.detection.dates import FORMATS, guess_dates
from titer.data.detection.layout import detect_encoding, detect_layout
from titer.data.time_unit import TimeUnit
from titer.errors import DataError

DAYS = [date(2015, 1, 5) + timedelta(days=9 * i) for i in range(40)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%d-%B-%Y", None),
        ("%d %b %Y", None),
        ("%B %d, %Y", None),
        ("%Y-%m-%d", None),
        ("%Y-%m-%dT%H:%M:%SZ", None),
        ("%Y-%m-%d %H:%M:%S+02:00", None),
        ("%d/%m/%Y", "%d/%m/%Y"),
        ("%m/%d/%Y", "%m/%d/%Y"),
        ("%d.%m.%y", "%d.%m.%y"),
        ("%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M"),
        ("%Y%m%d", "%Y%m%d"),
        ("%Y%m%d%H%M%S", "%Y%m%d%H%M%S"),
        ("%a %b %d %Y", "%a %b %d %Y"),
    ],
)
def test_the_format_of_dates_is_detected(pattern: str, expected: str | None):
    guess = guess_dates([f"{datetime(day.year, day.month, day.day, 10):{pattern}}" for day in DAYS])
    assert guess is not None
    assert (guess.date_format, guess.share) == (expected, 1.0)


@pytest.mark.parametrize(
    ("values", "date_format", "unit"),
    [
        ([str(1420070400 + 86400 * i) for i in range(30)], "unix", None),
        ([str(1420070400000 + 86400000 * i) for i in range(30)], "unix_ms", None),
        ([str(year) for year in range(1970, 2020)], None, TimeUnit.YEAR),
        ([str(24 * i) for i in range(50)], None, TimeUnit.INTEGER),
        (["2013-Q4", "2014-Q1"], None, None),
        (["2018-10-04", "####-##-##", ""], None, None),
    ],
)
def test_numbers_and_partial_dates_are_told_apart(values: list[str], date_format: str | None, unit: TimeUnit | None):
    guess = guess_dates(values)
    assert guess is not None
    assert (guess.date_format, guess.unit) == (date_format, unit)


@pytest.mark.parametrize("values", [[], ["", " "], ["Ada", "Ben"], ["3.5", "x"], ["32/32/2015"] * 5])
def test_other_values_are_not_dates(values: list[str]):
    assert guess_dates(values) is None


@given(
    days=st.lists(st.dates(date(1970, 1, 1), date(2060, 1, 1)), min_size=1, max_size=30),
    pattern=st.sampled_from(FORMATS),
)
def test_a_detected_format_reads_all_dates_that_were_written_in_a_format(days: list[date], pattern: str):
    texts = [datetime(day.year, day.month, day.day, 13, 5).astimezone().strftime(pattern) for day in days]
    guess = guess_dates(texts)
    assert guess is not None
    if guess.date_format is not None:
        for text in texts:
            read_formatted(text, guess.date_format)
    if guess.other is not None:
        for text in texts:
            read_formatted(text, guess.other)


def test_sorted_rows_tell_the_day_from_the_month():
    day_first = ["10/01/2015", "08/02/2015", "12/03/2015", "03/04/2015", "09/05/2015", "01/06/2015"]
    guess = guess_dates(day_first)
    assert guess is not None
    assert (guess.date_format, guess.other) == ("%d/%m/%Y", "%m/%d/%Y")
    exchanged = guess_dates([f"{text[3:5]}/{text[:2]}/{text[6:]}" for text in day_first])
    assert exchanged is not None
    assert exchanged.date_format == "%m/%d/%Y"


@pytest.mark.parametrize(
    ("text", "pivot", "year"), [("01.12.60", 2026, 1960), ("01.12.26", 2026, 2026), ("01.12.60", None, 2060)]
)
def test_two_digit_years_are_at_most_the_pivot_year(text: str, pivot: int | None, year: int):
    assert read_formatted(text, "%d.%m.%y", pivot)[0].year == year


NAMES = ["Société Générale", "Müller", "Zoë’s", "Ada", "O’Brien", "Łódź"]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "mac_roman"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("header", [True, False])
def test_a_layout_is_detected(encoding: str, delimiter: str, line_end: str, header: bool):
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end)
    if header:
        writer.writerow(["who", "did", "whom", "when"])
    writer.writerows([NAMES[i % 5], "meets, and greets", NAMES[(i + 1) % 5], day] for i, day in enumerate(DAYS))
    content = text.getvalue().encode(encoding)
    foreign = content if encoding in ("cp1252", "mac_roman") else b""
    layout = detect_layout(content, foreign)
    assert (layout.delimiter, layout.has_header, layout.width) == (delimiter, header, 4)
    assert content.decode(layout.encoding).removeprefix("\ufeff") == text.getvalue()


def test_utf_8_that_is_cut_in_the_middle_of_a_character_is_utf_8():
    assert detect_encoding("Zoë".encode()[:-1]) == "utf-8"


ACTORS = ["Police", "Rioters", "Army", "Rebels"] * 10
TEXT_DAYS = [str(day) for day in DAYS]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"EVENT_DATE": TEXT_DAYS, "YEAR": ["2015"] * 40, "EVENT_TYPE": ["Riot", "Battle"] * 20, "ACTOR1": ACTORS,
             "ACTOR2": ACTORS, "SOURCE": ["Dawn"] * 40, "NOTES": ["x" * 200] * 40},
            {"subject": "ACTOR1", "relation": "EVENT_TYPE", "object": "ACTOR2", "time": "EVENT_DATE"},
        ),
        (
            {"date": TEXT_DAYS, "home_team": ACTORS, "away_team": ACTORS, "home_score": ["1"] * 40,
             "tournament": ["Cup", "Friendly"] * 20},
            {"subject": "home_team", "relation": "tournament", "object": "away_team", "time": "date"},
        ),
        (
            {"Event ID": [str(i) for i in range(40)], "Event Date": TEXT_DAYS, "Source Name": ACTORS,
             "Source Sectors": ACTORS, "Event Text": ["Consult", "Meet"] * 20, "Target Name": ACTORS,
             "Target Country": ACTORS},
            {"subject": "Source Name", "relation": "Event Text", "object": "Target Name", "time": "Event Date"},
        ),
        (
            {"acquirer_name": ACTORS, "company_name": ACTORS, "acquired_at": TEXT_DAYS, "quarter": ["2013-Q4"] * 40},
            {"subject": "acquirer_name", "object": "company_name", "time": "acquired_at"},
        ),
        (
            {"country": ACTORS, "position": ["PM", "Finance"] * 20, "name": ACTORS, "start_date": TEXT_DAYS,
             "end_date": TEXT_DAYS},
            {"subject": "name", "relation": "position", "object": "country", "start": "start_date", "end": "end_date"},
        ),
        (
            {"u": [str(i) for i in range(40)], "i": [str(i) for i in range(40)],
             "ts": [str(1420070400 + i) for i in range(40)]},
            {"subject": "u", "object": "i", "time": "ts"},
        ),
        (
            {"x1": ACTORS, "x2": ["visits", "meets"] * 20, "x3": [f"town {i}" for i in range(40)], "x4": TEXT_DAYS},
            {"subject": "x1", "relation": "x2", "object": "x3", "time": "x4"},
        ),
    ],
)  # fmt: skip
def test_likely_columns_are_found(columns: dict[str, list[str]], expected: dict[str, str]):
    assert guess_columns(columns, {}).columns == expected


def test_given_columns_are_kept():
    columns = {"actor1": ACTORS, "actor2": ACTORS, "other": ACTORS, "date": TEXT_DAYS}
    assert guess_columns(columns, {"object": "other"}).columns["object"] == "other"


@pytest.mark.parametrize(("written", "hint"), [("DD/MM/YYYY", "%d/%m/%Y"), ("yyyy", "%Y"), ("day", "strptime")])
def test_a_format_without_codes_is_an_error_with_the_format_that_is_meant(written: str, hint: str):
    from titer.data.readers.options import TableOptions

    with pytest.raises(DataError, match=hint):
        TableOptions(date_format=written)
