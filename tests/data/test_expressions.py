"""Columns, joined columns, fallbacks, constants and words for missing values."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.samples import FORMATS, content, named, write_table
from titer.data.importing import import_dataset
from titer.data.readers.base import encode
from titer.data.readers.expression import Expression, find_column
from titer.data.readers.rejections import Rejections
from titer.data.readers.tables import TableOptions, read_tables
from titer.errors import DataError

COLUMNS = ("a", "b", "c")
values = st.sampled_from(["", " ", "x", "y", "NA", "null", "x y"])
tables = st.lists(st.tuples(values, values, values), min_size=1, max_size=10)
terms = st.sampled_from([*COLUMNS, '"constant"'])
expressions = st.lists(st.lists(terms, min_size=1, max_size=3), min_size=1, max_size=3)
missing_words = st.sets(st.sampled_from(["NA", "null"]))


def expected(row: dict[str, str], alternatives: list[list[str]], missing: set[str]) -> str:
    """Evaluate an expression for one row, as its definition says."""
    for alternative in alternatives:
        found = [term.strip('"') if term.startswith('"') else row[term].strip() for term in alternative]
        if not any(term in ("", *missing) and not alternative[i].startswith('"') for i, term in enumerate(found)):
            return " ".join(found)
    return ""


@given(rows=tables, alternatives=expressions, missing=missing_words)
def test_an_expression_has_the_value_of_its_definition_in_every_row(
    rows: list[tuple[str, ...]], alternatives: list[list[str]], missing: set[str]
):
    columns = {name: encode(pa.array([row[i] for row in rows])) for i, name in enumerate(COLUMNS)}
    expression = Expression.parse("|".join("+".join(terms) for terms in alternatives), COLUMNS)
    result = expression.evaluate(columns, len(rows), frozenset(word.encode() for word in missing))
    found = [value.decode().strip() for value in result.to_pylist()]
    assert found == [expected(dict(zip(COLUMNS, row, strict=True)), alternatives, missing) for row in rows]


@pytest.mark.parametrize(
    ("text", "present", "columns"),
    [
        ("a+b", ["a", "b"], ["a", "b"]),
        ("a+b", ["a+b", "a", "b"], ["a+b"]),
        (" a | b ", ["a", "b"], ["a", "b"]),
        ("ACTOR1", ["actor1"], ["actor1"]),
        ('"a|b"', ["a", "b"], []),
    ],
)
def test_the_columns_of_an_expression(text: str, present: list[str], columns: list[str]):
    assert Expression.parse(text, present).columns == columns


def test_a_column_in_another_capitalisation_is_found_only_if_it_is_the_only_one():
    assert find_column("who", ["Who"]) == "Who"
    assert find_column("who", ["Who", "WHO"]) is None
    assert find_column("WHO", ["Who", "WHO"]) == "WHO"
    with pytest.raises(DataError, match="no column 'whom'"):
        Expression.parse("who|whom", ["who"])


ROWS = [
    ("Ada", "Lovelace", "visits", "", "Rome", "2018-10-01"),
    ("Ben", "Stone", "visits", "Cleo", "Oslo", "2018-10-02"),
    ("Cleo", "Lin", "calls", "NA", "Kyiv", "2018-10-03"),
]


@pytest.mark.parametrize("ending", FORMATS)
def test_joined_columns_fallbacks_and_constants_make_facts_in_every_format(tmp_path: Path, ending: str):
    path = write_table(tmp_path / f"f.{ending}", ROWS, ["first", "last", "verb", "whom", "town", "day"])
    options = TableOptions(
        columns={"subject": "first+last", "object": "whom|town", "time": "day"},
        constants={"relation": "acquired"},
        missing=["NA"],
    )
    table = read_tables([path], options, Rejections())
    assert named(table.facts, table.vocabulary, table.axis) == [
        ("Ada Lovelace", "acquired", "Rome", "2018-10-01"),
        ("Ben Stone", "acquired", "Cleo", "2018-10-02"),
        ("Cleo Lin", "acquired", "Kyiv", "2018-10-03"),
    ]


def test_a_date_and_an_hour_can_be_joined(tmp_path: Path):
    path = write_table(tmp_path / "f.csv", [("a", "r", "b", "2018-10-01", "05:30")], [*"sro", "day", "hour"])
    columns = {"subject": "s", "relation": "r", "object": "o", "time": "day+hour"}
    dataset = import_dataset(path, columns=columns, split=(1, 0, 0))
    assert dataset.axis.label(0) == "2018-10-01 05:00"


def test_words_for_missing_values_are_open_ends_of_intervals(tmp_path: Path):
    rows = [("a", "r", "b", "2001-##-##", "null"), ("b", "r", "a", "NA", "2003-##-##")]
    path = write_table(tmp_path / "f.csv", rows, ["subject", "relation", "object", "start", "end"])
    dataset = import_dataset(path, missing=["NA", "null"], split=(1, 0, 0))
    assert len(dataset.facts) == 6


@given(names=st.lists(st.sampled_from(["Ada", "ADA", " ada ", "A  da", "a da", "Ben", "ben"]), min_size=1, max_size=20))
def test_merged_names_are_one_entity_with_the_most_frequent_spelling(names: list[str]):
    rows = [(name, "r", "x", str(i + 1)) for i, name in enumerate(names)]
    with TemporaryDirectory() as folder:
        path = write_table(Path(folder, "f.csv"), rows)
        table = read_tables([path], TableOptions(merge_names=True), Rejections())
        apart = read_tables([path], TableOptions(), Rejections())
    stripped = [name.strip() for name in names]
    groups: dict[str, list[str]] = {}
    for name in stripped:
        groups.setdefault(" ".join(name.casefold().split()), []).append(name)
    kept = {key: max(dict.fromkeys(group), key=group.count) for key, group in groups.items()}
    found = [row[0] for row in named(table.facts, table.vocabulary, table.axis)]
    assert found == [kept[" ".join(name.casefold().split())] for name in stripped]
    assert [row[0] for row in named(apart.facts, apart.vocabulary, apart.axis)] == stripped
    several = {key: {*group} - {kept[key]} for key, group in groups.items() if len({*group}) > 1}
    assert {merged.kept: {*merged.others} for merged in table.merged} == {kept[k]: v for k, v in several.items()}
    assert {merged.kept for merged in apart.merged} == {kept[key] for key in several}


def test_relations_are_merged_too(tmp_path: Path):
    rows = [("a", verb, "b", str(i)) for i, verb in enumerate(["Visit", "visit", "Visit"])]
    dataset = import_dataset(write_table(tmp_path / "f.csv", rows), merge_names=True, split=(1, 0, 0))
    assert dataset.vocabulary.relations == ["Visit"]
    assert sum(sum(counts.values()) for counts in content(dataset).values()) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"verb": "x"}}, "unknown part of a fact 'verb'"),
        ({"constants": {"verb": "x"}}, "unknown part of a fact 'verb'"),
        ({"columns": {"relation": "x"}, "constants": {"relation": "x"}}, "both a column and a constant"),
    ],
)
def test_impossible_options_are_rejected(options: dict[str, dict[str, str]], message: str):
    with pytest.raises(DataError, match=message):
        TableOptions(**options)  # pyright: ignore[reportArgumentType]


options_of_all_kinds = st.builds(
    TableOptions,
    columns=st.dictionaries(st.sampled_from(["subject", "object", "time"]), st.text(min_size=1)),
    constants=st.dictionaries(st.just("relation"), st.text(min_size=1)),
    names=st.none() | st.lists(st.text(), min_size=1),
    delimiter=st.none() | st.sampled_from(";\t|"),
    encoding=st.none() | st.just("latin-1"),
    date_format=st.none() | st.sampled_from(["%d.%m.%y", "unix"]),
    pivot_year=st.none() | st.just(2026),
    missing=st.lists(st.text(min_size=1)),
    merge_names=st.booleans(),
)


@given(options=options_of_all_kinds)
def test_options_are_restored_from_their_plain_values(options: TableOptions):
    assert TableOptions.from_dict(options.to_dict()) == options
    assert TableOptions.from_dict({**options.to_dict(), "of_a_later_version": 1}) == options
