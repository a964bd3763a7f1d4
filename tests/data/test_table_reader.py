"""Tables of named facts in every format, at points in time and over intervals."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather

from data.samples import FORMATS, INTERVAL, POINT, Row, content, named, write_table
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.importing import import_dataset
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import Table, TableOptions, read_tables
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError

ROWS = [
    ("Ada", "visit", "Ben", "2018-10-04"),
    ("Ben", "praise", "Ada", "2018-10-01"),
    ("Ada", "visit", "Ben", "2018-10-04"),
    ("Cleo", "visit", "Ada", "2018-10-09"),
]


def read(*paths: Path, rejections: Rejections | None = None, **options: object) -> Table:
    chosen = TableOptions(**options)  # pyright: ignore[reportArgumentType]
    return read_tables(list(paths), chosen, Rejections() if rejections is None else rejections)


def rows_of(table: Table) -> list[Row]:
    return named(table.facts, table.vocabulary, table.axis)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_is_read_in_order_of_time(tmp_path: Path, ending: str):
    table = read(write_table(tmp_path / f"facts.{ending}", ROWS))
    assert rows_of(table) == [ROWS[1], ROWS[0], ROWS[2], ROWS[3]]
    assert table.vocabulary.entities == ["Ada", "Ben", "Cleo"]
    assert table.axis == TimeAxis(TimeUnit.DAY, "2018-10-01")


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=8).filter(
    str.strip
)
days = st.dates(date(2018, 1, 1), date(2018, 2, 1)).map(str)


@pytest.mark.slow
@given(rows=st.lists(st.tuples(names, names, names, days), min_size=1, max_size=12))
def test_the_same_facts_give_the_same_dataset_from_every_format(rows: list[Row]):
    with TemporaryDirectory() as folder:
        tables = [read(write_table(Path(folder, f"facts.{ending}"), rows)) for ending in FORMATS]
    expected = sorted((tuple(part.strip() for part in row) for row in rows), key=lambda row: row[3])
    nothing = Facts.empty()
    datasets = [Dataset("toy", table.vocabulary, table.axis, table.facts, nothing, nothing) for table in tables]
    for table in tables:
        assert rows_of(table) == expected
    assert len({dataset.checksum for dataset in datasets}) == 1


@pytest.mark.parametrize(
    "time",
    [
        pa.array([date(2018, 10, 4), date(2018, 10, 1)]),
        pa.array([date(2018, 10, 4), date(2018, 10, 1)], pa.date64()),
        pa.array([datetime(2018, 10, 4), datetime(2018, 10, 1)], pa.timestamp("ns")),
        pa.array([datetime(2018, 10, 4), datetime(2018, 10, 1)], pa.timestamp("s", "UTC")),
        pa.array(["2018-10-04", "2018-10-01"], pa.large_string()),
        pa.array(["2018-10-04", "2018-10-01"]).dictionary_encode(),
        pa.array([b"2018-10-04", b"2018-10-01"]),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_several_types_are_read_as_dates(tmp_path: Path, time: pa.Array):
    table = pa.table({"subject": ["Ada", "Ben"], "relation": ["visit"] * 2, "object": ["Ben", "Ada"], "time": time})
    pq.write_table(table, tmp_path / "facts.parquet")
    feather.write_feather(table, str(tmp_path / "facts.feather"))
    for name in ("facts.parquet", "facts.feather"):
        assert rows_of(read(tmp_path / name)) == [
            ("Ben", "visit", "Ada", "2018-10-01"),
            ("Ada", "visit", "Ben", "2018-10-04"),
        ]


def test_hours_of_a_time_zone_are_read_as_utc_from_every_format(tmp_path: Path):
    local = pa.array([datetime(2018, 10, 4, 20), datetime(2018, 10, 5, 1)], pa.timestamp("us", "UTC"))
    table = pa.table({"subject": ["a", "b"], "relation": ["r", "r"], "object": ["b", "a"]})
    pq.write_table(
        table.append_column("time", local.cast(pa.timestamp("us", "America/New_York"))), tmp_path / "facts.parquet"
    )
    texts = [("a", "r", "b", "2018-10-04T16:00-04:00"), ("b", "r", "a", "2018-10-05 03:30+02:30")]
    write_table(tmp_path / "facts.csv", texts)
    for name in ("facts.parquet", "facts.csv"):
        assert [row[3] for row in rows_of(read(tmp_path / name))] == ["2018-10-04 20:00", "2018-10-05 01:00"]


def test_numbers_in_json_and_parquet_are_read_as_numbers(tmp_path: Path):
    numbers = [48, 0, 72]
    lines = [json.dumps({"subject": 1, "relation": "r", "object": 2.5, "time": number}) for number in numbers]
    (tmp_path / "facts.jsonl").write_text("\n".join(lines))
    parts = {"subject": [1] * 3, "relation": ["r"] * 3, "object": [2.5] * 3}
    pq.write_table(pa.table({**parts, "time": numbers}), tmp_path / "whole.parquet")
    pq.write_table(pa.table({**parts, "time": [float(n) for n in numbers]}), tmp_path / "float.parquet")
    for path in tmp_path.iterdir():
        table = read(path)
        assert table.axis == TimeAxis(TimeUnit.INTEGER, 0, 24)
        assert table.facts.time.tolist() == [0, 2, 3]
        assert table.vocabulary.entities == ["1", "2.5"]


def test_keys_missing_from_json_objects_are_unknown_values(tmp_path: Path):
    lines = [{"subject": "a", "relation": "r", "object": "b", "start": "2001"}]
    lines += [{"subject": "a", "relation": "r", "object": "b", "start": "2001", "end": "2003"}]
    (tmp_path / "facts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert [row[3] for row in rows_of(read(tmp_path / "facts.jsonl"))] == sorted(2 * ["2001", "2002", "2003"])


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_can_have_other_names(tmp_path: Path, ending: str):
    path = write_table(
        tmp_path / f"facts.{ending}", [("x", *row) for row in ROWS], ["id", "Who", "Relation", "whom", "on"]
    )
    table = read(path, columns={"subject": "Who", "object": "whom", "time": "on"})
    assert Counter(rows_of(table)) == Counter(ROWS)


def test_one_column_can_be_both_start_and_end(tmp_path: Path):
    path = write_table(tmp_path / "facts.csv", ROWS)
    table = read(path, columns={"start": "time", "end": "time"})
    assert Counter(rows_of(table)) == Counter(ROWS)


def test_a_text_file_without_a_header_gets_the_given_names(tmp_path: Path):
    (tmp_path / "facts.txt").write_text("".join("\t".join(row) + "\n" for row in ROWS))
    assert Counter(rows_of(read(tmp_path / "facts.txt", names=list(POINT)))) == Counter(ROWS)


def test_any_delimiter_and_encoding_can_be_given(tmp_path: Path):
    text = "subject;relation;object;time\nÉva;visité;Zoë;2018\n"
    (tmp_path / "facts.dat").write_bytes(text.encode("utf-16"))
    (tmp_path / "latin.csv").write_bytes(text.encode("latin-1"))
    for name, encoding in (("facts.dat", "utf-16"), ("latin.csv", "Latin-1")):
        assert rows_of(read(tmp_path / name, delimiter=";", encoding=encoding)) == [("Éva", "visité", "Zoë", "2018")]


def test_quotes_and_blanks_in_fields_are_understood(tmp_path: Path):
    (tmp_path / "facts.csv").write_text(
        'subject,relation,object,time\n"Ada ""the first"", Byron"," visit ",5" pipe,2018-10-04\n'
    )
    assert rows_of(read(tmp_path / "facts.csv")) == [('Ada "the first", Byron', "visit", '5" pipe', "2018-10-04")]


def test_several_files_share_their_names_and_their_axis(tmp_path: Path):
    paths = [write_table(tmp_path / "a.csv", ROWS[:2]), write_table(tmp_path / "b.parquet", ROWS[2:])]
    assert read(*paths).facts == read(write_table(tmp_path / "all.csv", ROWS)).facts


def test_points_and_intervals_cannot_be_mixed(tmp_path: Path):
    a = write_table(tmp_path / "a.csv", ROWS)
    b = write_table(tmp_path / "b.csv", [(*ROWS[0], "2018-10-05")], INTERVAL)
    with pytest.raises(DataError, match="the time is in 'start' and 'end', but in 'time' in the files before"):
        read(a, b)


@pytest.mark.parametrize(
    ("times", "unit", "expected"),
    [
        (["2018-10-04T05:00", "2018-10-04T06:30"], None, ["2018-10-04 05:00", "2018-10-04 06:00"]),
        (["2018-10-04T00:00", "2018-10-05 00:00:00"], None, ["2018-10-04", "2018-10-05"]),
        (["2018-10-04T00:00", "2018-10-05 00:00:00"], "hour", ["2018-10-04 00:00", "2018-10-05 00:00"]),
        (["2018-10-04", "2018/10/5"], None, ["2018-10-04", "2018-10-05"]),
        (["2018-W40", "2018-W41"], None, ["2018-10-01", "2018-10-08"]),
        (["2018-10-04", "2018-10-09"], "week", ["2018-10-01", "2018-10-08"]),
        (["2018-10", "2018-12-31"], None, ["2018-10", "2018-12"]),
        (["2018-##-##", "2020-12-31"], None, ["2018", "2020"]),
        (["2018", "2020"], None, ["2018", "2020"]),
        (["2018", "2020"], "year", ["2018", "2020"]),
    ],
)
def test_a_step_has_the_precision_of_the_first_date_or_the_given_unit(
    tmp_path: Path, times: list[str], unit: str | None, expected: list[str]
):
    path = write_table(tmp_path / "facts.csv", [("a", "r", "b", time) for time in times])
    table = read(path, unit=TimeUnit(unit) if unit else None)
    assert [row[3] for row in rows_of(table)] == expected


def test_dates_are_read_in_a_given_format(tmp_path: Path):
    path = write_table(tmp_path / "facts.csv", [("a", "r", "b", "04.10.2018"), ("a", "r", "b", "01.11.2018")])
    table = read(path, date_format="%d.%m.%Y")
    assert [row[3] for row in rows_of(table)] == ["2018-10-04", "2018-11-01"]
    assert table.facts.time.tolist() == [0, 28]


def test_points_outside_the_dates_to_keep_are_counted(tmp_path: Path):
    table = read(write_table(tmp_path / "facts.csv", ROWS), earliest="2018-10-02", latest="2018-10-08")
    assert rows_of(table) == [ROWS[0], ROWS[2]]
    assert table.num_outside == 2
    assert table.vocabulary.entities == ["Ada", "Ben"]
    assert table.axis.origin == "2018-10-02"


def test_dates_to_keep_without_facts_are_rejected(tmp_path: Path):
    with pytest.raises(DataError, match="no facts between"):
        read(write_table(tmp_path / "facts.csv", ROWS), earliest="2019-01-01")


# Intervals against an expansion day by day.

FIRST, LAST = date(2016, 1, 1), date(2018, 12, 31)
UNITS = (TimeUnit.DAY, TimeUnit.WEEK, TimeUnit.MONTH, TimeUnit.YEAR)


@dataclass(frozen=True)
class Partial:
    """A date of which the day or the month may be unknown."""

    text: str
    first: date
    last: date


def next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def partial(day: date, precision: int) -> Partial:
    if precision == 0:
        return Partial(f"{day.year}-##-##", date(day.year, 1, 1), date(day.year, 12, 31))
    if precision == 1:
        return Partial(f"{day:%Y-%m}-##", day.replace(day=1), next_month(day) - timedelta(days=1))
    return Partial(str(day), day, day)


calendar_days = st.dates(FIRST, LAST)
partials = st.builds(partial, calendar_days, st.integers(0, 2))
unknown = st.sampled_from(["", "####-##-##"])


def period(day: date, unit: TimeUnit) -> date:
    return {
        TimeUnit.DAY: day,
        TimeUnit.WEEK: day - timedelta(days=day.weekday()),
        TimeUnit.MONTH: day.replace(day=1),
        TimeUnit.YEAR: day.replace(month=1, day=1),
    }[unit]


def bound_text(day: date | None, unit: TimeUnit) -> str | None:
    if day is None:
        return None
    return {TimeUnit.MONTH: f"{day:%Y-%m}", TimeUnit.YEAR: str(day.year)}.get(unit, str(day))


@pytest.mark.slow
@settings(max_examples=150)
@given(
    unit=st.sampled_from(UNITS),
    known=st.tuples(partials, partials).filter(lambda pair: pair[0].first <= pair[1].last),
    others=st.lists(st.tuples(partials | unknown, partials | unknown), max_size=8),
    window=st.tuples(st.none() | calendar_days, st.none() | calendar_days),
    ending=st.sampled_from(FORMATS),
)
def test_facts_that_last_become_one_fact_per_step(
    unit: TimeUnit,
    known: tuple[Partial, Partial],
    others: list[tuple[Partial | str, Partial | str]],
    window: tuple[date | None, date | None],
    ending: str,
):
    intervals: list[tuple[Partial | str, Partial | str]] = [known, *others]
    wrong = {
        i
        for i, (start, end) in enumerate(intervals)
        if isinstance(start, Partial) and isinstance(end, Partial) and end.last < start.first
    }
    dates = [d for i, pair in enumerate(intervals) if i not in wrong for d in pair if isinstance(d, Partial)]
    lowest = period(window[0] or min(d.first for d in dates), unit)
    highest = period(window[1] or max(d.last for d in dates), unit)
    all_days = [FIRST + timedelta(days=i) for i in range((LAST - FIRST).days + 1)]
    all_periods = sorted({period(day, unit) for day in all_days})
    expected: Counter[tuple[str, date]] = Counter()
    outside = 0
    for i, (start, end) in enumerate(intervals):
        if i in wrong:
            continue
        first = period(start.first, unit) if isinstance(start, Partial) else lowest
        last = period(end.last, unit) if isinstance(end, Partial) else highest
        steps = [step for step in all_periods if max(first, lowest) <= step <= min(last, highest)]
        expected.update((str(i), step) for step in steps)
        outside += not steps

    rejections = Rejections(skip=True)
    options = {"unit": unit, "earliest": bound_text(window[0], unit), "latest": bound_text(window[1], unit)}
    with TemporaryDirectory() as folder:
        texts = [tuple(d.text if isinstance(d, Partial) else d for d in pair) for pair in intervals]
        rows = [(str(i), "lasts", "x", *text) for i, text in enumerate(texts)]
        path = write_table(Path(folder, f"facts.{ending}"), rows, INTERVAL)
        if not expected:
            with pytest.raises(DataError, match="no facts between"):
                read(path, rejections=rejections, **options)
            return
        table = read(path, rejections=rejections, **options)
    found = Counter((row[0], date.fromisoformat((row[3] + "-01-01")[:10])) for row in rows_of(table))
    assert found == expected
    assert table.num_outside == outside
    first_row = 2 if ending in ("csv", "tsv", "csv.gz") else 1
    assert [(p.row, p.column) for p in rejections.problems] == [(first_row + i, "end") for i in sorted(wrong)]
    assert all(a <= b for a, b in pairwise(table.facts.time.tolist()))


@given(
    intervals=st.lists(
        st.tuples(st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9)), min_size=1, max_size=8
    )
)
def test_intervals_of_integers_become_one_fact_per_integer(intervals: list[tuple[int | None, int | None]]):
    right = [(a, b) for a, b in intervals if a is None or b is None or a <= b]
    known = [n for pair in right for n in pair if n is not None]
    rejections = Rejections(skip=True)
    with TemporaryDirectory() as folder:
        texts = [("a", "r", "b", *("" if n is None else str(n) for n in pair)) for pair in intervals]
        path = write_table(Path(folder, "facts.csv"), texts, INTERVAL)
        if not known:
            with pytest.raises(DataError, match=r"no row has a known date|every row was rejected"):
                read(path, rejections=rejections)
            return
        table = read(path, rejections=rejections)
    expected = [
        str(n)
        for a, b in right
        for n in range(min(known) if a is None else a, (max(known) if b is None else b) + 1)
    ]  # fmt: skip
    assert Counter(row[3] for row in rows_of(table)) == Counter(expected)
    assert len(rejections) == len(intervals) - len(right)


def test_intervals_of_hours_become_one_fact_per_hour(tmp_path: Path):
    rows = [("a", "r", "b", "2018-10-04T22:30", "2018-10-05T01:10")]
    table = read(write_table(tmp_path / "facts.csv", rows, INTERVAL))
    assert [row[3][-8:] for row in rows_of(table)] == ["04 22:00", "04 23:00", "05 00:00", "05 01:00"]


@pytest.mark.parametrize("count", [1, 8])
def test_huge_intervals_are_rejected_before_memory_runs_out(tmp_path: Path, count: int):
    rows = [("a", "r", "b", f"-{9 * 10**17}", f"{9 * 10**17}")] * count
    with pytest.raises(DataError, match="use a coarser --unit"):
        read(write_table(tmp_path / "facts.csv", rows, INTERVAL))


def test_a_dataset_is_the_same_from_every_format_also_for_facts_that_last(tmp_path: Path):
    rows = [("a", "r", "b", "1926-##-##", "1929-##-##"), ("b", "s", "c", "1927", ""), ("c", "r", "a", "", "1931-05-##")]
    datasets = [
        import_dataset(write_table(tmp_path / f"facts.{ending}", rows, INTERVAL), tmp_path / ending)
        for ending in FORMATS
    ]
    assert len({dataset.checksum for dataset in datasets}) == 1
    assert sum((content(datasets[0])[split] for split in ("train", "valid", "test")), Counter()) == Counter(
        [("a", "r", "b", str(year)) for year in range(1926, 1930)]
        + [("b", "s", "c", str(year)) for year in range(1927, 1932)]
        + [("c", "r", "a", str(year)) for year in range(1926, 1932)]
    )
