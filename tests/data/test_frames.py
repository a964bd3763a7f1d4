"""Datasets from data frames of pandas, polars and Arrow."""

import datetime as dt
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import titer
from data.samples import content, write_table
from titer.data.detection.proposal import ProposalError
from titer.data.importing import import_dataset
from titer.errors import DataError

DAYS = [dt.date(2018, 10, day) for day in range(1, 11)]
COLUMNS: dict[str, list[Any]] = {
    "who": ["Ada", "Ben"] * 5,
    "did": ["visits"] * 10,
    "whom": ["Cleo", "Dan"] * 5,
    "when": [dt.datetime(day.year, day.month, day.day) for day in DAYS],
}
PARTS = {"subject": "who", "relation": "did", "object": "whom", "time": "when"}


class OnlyStream:
    """A frame of a library that titer does not know."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda: pd.DataFrame(COLUMNS, index=range(7, 17)),
    "pandas with categories": lambda: pd.DataFrame(COLUMNS).astype({"who": "category", "did": "category"}),
    "pandas with periods": lambda: pd.DataFrame(COLUMNS).assign(when=lambda frame: frame["when"].dt.to_period("D")),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "arrow": lambda: pa.table(COLUMNS),
    "record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "another library": OnlyStream,
    "dictionary": lambda: COLUMNS,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_dataset_of_the_same_file(tmp_path: Path, kind: str):
    rows = [(*row[:3], str(row[3].date())) for row in zip(*COLUMNS.values(), strict=True)]
    expected = import_dataset(write_table(tmp_path / "f.csv", rows, list(COLUMNS)), columns=PARTS)
    dataset = titer.Dataset.from_pandas(FRAMES[kind](), **PARTS)
    assert content(dataset) == content(expected)
    assert dataset.checksum == expected.checksum
    assert dataset.mapping == expected.mapping


def test_options_of_an_import_apply():
    dataset = titer.Dataset.from_pandas(
        pd.DataFrame(COLUMNS), subject="who", object="whom", time="when", constants={"relation": "meets"}, unit="week",
        split=(1, 0, 0), name="visits", attributes=["did"],
    )  # fmt: skip
    assert (dataset.name, dataset.axis.unit, dataset.vocabulary.relations) == ("visits", "week", ["meets"])
    assert dataset.attributes is not None
    with pytest.raises(DataError, match="unknown option 'untl'; did you mean 'unit'"):
        titer.Dataset.from_pandas(pd.DataFrame(COLUMNS), untl="week")


def test_missing_values_of_every_kind_are_bad_rows():
    frame = pd.DataFrame({**COLUMNS, "whom": [None, float("nan"), pd.NA, "", *["Cleo"] * 6]})
    with pytest.raises(DataError, match=r"data frame, row 1, column 'object': empty\n4 of 10 rows \(40.0 %\)"):
        titer.Dataset.from_pandas(frame, **PARTS)
    with pytest.warns(UserWarning, match="rows skipped: 4") as caught:
        dataset = titer.Dataset.from_pandas(frame, **PARTS, skip_bad_rows=True)
    assert caught[0].filename == __file__
    assert len(dataset.facts) == 6


def test_columns_that_are_not_given_are_proposed():
    frame = pd.DataFrame({"actor1": COLUMNS["who"], "actor2": COLUMNS["whom"], "type": COLUMNS["did"], "date": DAYS})
    with pytest.raises(ProposalError, match="subject: column 'actor1'"):
        titer.Dataset.from_pandas(frame)
    assert titer.Dataset.from_pandas(frame, accept=True).vocabulary.relations == ["visits"]


@pytest.mark.parametrize("frame", [3, "events.csv", [1, 2]])
def test_what_is_not_a_frame_is_an_error(frame: object):
    with pytest.raises(DataError, match="not a data frame"):
        titer.Dataset.from_pandas(frame)


def test_two_columns_with_one_name_are_an_error():
    with pytest.raises(DataError, match="two columns 'a'"):
        titer.Dataset.from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.slow
def test_three_lines_from_a_frame_to_a_forecast():
    frame = pd.DataFrame(COLUMNS)
    dataset = titer.Dataset.from_pandas(frame, **PARTS)
    forecaster = titer.train(dataset, "recurrency")
    assert forecaster.ask("Ada", "visits").answers[0].entity == "Cleo"
