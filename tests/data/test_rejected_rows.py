"""Rejected rows: counted by reason, written with their columns, repaired and imported again."""

import csv
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import invoke
from data.samples import FORMATS, content, write_table
from titer.data.importing import import_dataset
from titer.data.readers.rejections import Problem, Rejections
from titer.errors import DataError

COLUMNS = ("note", "subject", "relation", "object", "time")
GOOD = [("kept", "Ada", "visit", "Ben", f"2018-10-{day:02d}") for day in range(1, 9)]

pytestmark = pytest.mark.filterwarnings("ignore:rows skipped")


def rejected(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("ending", FORMATS)
def test_repaired_rows_are_imported_with_the_others(tmp_path: Path, ending: str):
    bad = [("a, note", "Ada", "visit", "", "2018-10-09"), ("another", "Zoë", "visit", "Ben", "soon")]
    path = write_table(tmp_path / f"facts.{ending}", [*GOOD, *bad], COLUMNS)
    import_dataset(path, tmp_path / "out", skip_bad_rows=True)
    file = tmp_path / "out.rejected.csv"
    rows = rejected(file)
    assert [tuple(row[name] for name in COLUMNS) for row in rows] == bad
    assert [row["rejected_reason"] for row in rows] == ["empty", "'soon' is not a date like 2018-10-04"]
    file.write_text(file.read_text().replace("visit,,", "visit,Cleo,").replace("Ben,soon", "Ben,2018-10-10"))
    repaired = import_dataset([path, file], tmp_path / "out", skip_bad_rows=True, overwrite=True)
    facts = sum((counts for counts in content(repaired).values()), Counter())
    assert len(repaired.facts) == len(GOOD) + 2
    assert facts[("Ada", "visit", "Cleo", "2018-10-09")] == facts[("Zoë", "visit", "Ben", "2018-10-10")] == 1
    assert file.read_text().count("Cleo") == 1  # the repaired file is not overwritten
    assert len(rejected(tmp_path / "out.rejected-again.csv")) == 2


def test_rejected_rows_are_read_with_the_options_of_the_original_file(tmp_path: Path):
    path = tmp_path / "facts.csv"
    good = "".join(f"Zoë;{day:02d}.10.2018;Ben\n" for day in range(1, 9))
    path.write_bytes(f"{good}Zoë;soon;Ben\nZoë;11.10.2018\n".encode("latin-1"))
    options = {"names": ["subject", "time", "object"], "delimiter": ";", "encoding": "latin-1"}
    options |= {"date_format": "%d.%m.%Y", "constants": {"relation": "visits"}, "skip_bad_rows": True}
    import_dataset(path, tmp_path / "out", **options)
    file = tmp_path / "out.rejected.csv"
    assert [(row["subject"], row["time"], row["object"]) for row in rejected(file)] == [
        ("Zoë", "soon", "Ben"),
        ("Zoë", "11.10.2018", ""),
    ]
    file.write_text(file.read_text().replace("soon", "09.10.2018").replace("11.10.2018,", "11.10.2018,Ada"))
    repaired = import_dataset([path, file], **options)
    assert len(repaired.facts) == 10
    assert repaired.vocabulary.entities == ["Zoë", "Ben", "Ada"]


fields = st.sampled_from(["Ada", "Zoë", "", "a, b", 'say "x"', "2018-10-01", "2018-10-05", "soon"])


@settings(max_examples=40)
@given(rows=st.lists(st.lists(fields, min_size=1, max_size=6), max_size=12))
@pytest.mark.slow
def test_every_row_is_a_fact_or_blank_or_in_the_file_of_rejected_rows(rows: list[list[str]]):
    good = ["Ada", "visit", "Ben", "2018-10-01"]
    with TemporaryDirectory() as folder:
        path = Path(folder, "facts.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS[1:], good, *rows])
        dataset = import_dataset(path, Path(folder, "out"), skip_bad_rows=True, split=(1, 0, 0))
        listed = rejected(Path(folder, "out.rejected.csv")) if Path(folder, "out.rejected.csv").exists() else []
    blank = [row for row in rows if len(row) == 4 and not any(row)]
    assert len(dataset.facts) + len(listed) + len(blank) == len(rows) + 1
    for row in listed:
        original = rows[int(row["rejected_row"]) - 3]
        shown = [row[name] for name in COLUMNS[1:]]
        assert shown[: min(len(original), 3)] == original[:3]
        assert all(value in shown[3] for value in original[3:])


def test_all_problems_are_reported_at_once_with_counts_and_shares(tmp_path: Path):
    bad = [("", "Ada", "visit", "", "2018-10-09")] * 3 + [("", "Ada", "visit", "Ben", f"soon {i}") for i in range(2)]
    path = write_table(tmp_path / "facts.csv", [*GOOD[:5], *bad], COLUMNS)
    with pytest.raises(DataError) as caught:
        import_dataset(path)
    assert str(caught.value).splitlines() == [
        f"{path}, row 7, column 'object': empty",
        "5 of 10 rows (50.0 %) cannot be read:",
        "  3 of 10 rows (30.0 %): column 'object': empty (first in row 7)",
        "  2 of 10 rows (20.0 %): column 'time': 'soon 0' is not a date like 2018-10-04 (first in row 10)",
        "(--bad-rows skip leaves such rows out and lists them in a file)",
    ]


def test_the_loss_of_many_rows_is_a_warning(tmp_path: Path):
    bad = [("", "Ada", "visit", "", "2018-10-09")] * 3
    path = write_table(tmp_path / "facts.csv", [*GOOD, *bad], COLUMNS)
    result = invoke("data", "import", path, "--out", tmp_path / "out", "--bad-rows", "skip")
    assert result.stderr.splitlines() == [
        f"skipped 3 invalid rows, written with the reasons to {tmp_path / 'out.rejected.csv'}",
        "  3 of 11 rows (27.3 %): column 'object': empty (first in row 10)",
        "warning: 27 % of the rows are left out",
    ]


def test_if_every_row_is_rejected_the_reasons_are_given(tmp_path: Path):
    path = write_table(tmp_path / "facts.csv", [("", "Ada", "visit", "", "2018-10-09")] * 3, COLUMNS)
    with pytest.raises(DataError, match=r"every row was rejected:\n  3 of 3 rows \(100.0 %\): column 'object': empty"):
        import_dataset(path, skip_bad_rows=True)


def test_values_that_no_fact_can_have_are_kept_in_rejected_rows(tmp_path: Path):
    rows: list[dict[str, object]] = [
        {"subject": "Ada", "relation": "visit", "object": "Ben", "time": f"2018-10-0{day}"} for day in range(1, 5)
    ]
    rows.append({"subject": "Ada", "relation": "visit", "object": ["Ben"], "time": "2018-10-05", "tags": [1, 2]})
    (tmp_path / "facts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    import_dataset(tmp_path / "facts.jsonl", tmp_path / "json", skip_bad_rows=True)
    (row,) = rejected(tmp_path / "json.rejected.csv")
    assert (row["object"], row["tags"]) == ('["Ben"]', "[1, 2]")
    table = pa.table(
        {"subject": ["a", ""], "relation": ["r"] * 2, "object": ["b"] * 2, "time": [1, 2], "l": [[1], [2]]}
    )
    pq.write_table(table, tmp_path / "facts.parquet")
    import_dataset(tmp_path / "facts.parquet", tmp_path / "arrow", skip_bad_rows=True, split=(1, 0, 0))
    assert rejected(tmp_path / "arrow.rejected.csv")[0]["l"] == "[2]"


def test_memory_for_problems_is_bounded_unless_rows_are_skipped():
    rejections = Rejections()
    for row in range(1000):
        rejections.add([Problem("f.csv", row, "time", f"'{row}' is not a date")])
    assert (len(rejections), len(rejections.problems), len(rejections.reasons)) == (1000, 1, 1)
