"""The commands that remove and export added facts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import invoke, titer

HEADER = "subject,relation,object,time\n"


@pytest.fixture
def run(recurrency_run: Path, run_copy: Callable[[Path], Path], tmp_path: Path) -> Path:
    copy = run_copy(recurrency_run)
    for name, rows in (("one", ["Newland,2023-07-01", "=1+1,2023-07-02"]), ("two", ["Newland,2023-07-03"])):
        (tmp_path / f"{name}.csv").write_text(HEADER + "".join(f"Aldoria,accuse,{row}\n" for row in rows))
        titer("facts", "add", copy, tmp_path / f"{name}.csv")
    return copy


def listed(run: Path) -> list[int]:
    return [fact["sequence"] for fact in json.loads(titer("facts", "list", run, "--json"))["latest"]]


def test_info_about_a_run_says_that_added_facts_are_not_counted(run: Path, recurrency_run: Path):
    note = f"facts that were added to {run} are not counted: titer facts list {run}"
    assert note in invoke("data", "info", run).stderr
    assert "added" not in invoke("data", "info", recurrency_run).stderr


def test_undo_takes_back_the_last_file(run: Path):
    assert "1 fact removed, 2 left" in titer("facts", "undo", run)
    assert listed(run) == [1, 2]
    assert "2 facts removed, 0 left" in titer("facts", "undo", run)
    assert "no recorded addition" in str(invoke("facts", "undo", run).exception)


@pytest.mark.parametrize(
    ("words", "left"), [(("1",), [2, 3]), (("1-2",), [3]), (("1", "3"), [2]), (("--after", "2023-07-01"), [1])]
)
def test_facts_are_removed_by_number_or_date(run: Path, words: tuple[str, ...], left: list[int]):
    titer("facts", "remove", run, *words)
    assert listed(run) == left


def test_the_journal_shows_all_changes(run: Path):
    titer("facts", "remove", run, "2", "--note", "wrong year")
    shown = titer("facts", "list", run, "--journal")
    assert [line.split()[0] for line in shown.splitlines()[-3:]] == ["add", "add", "remove"]
    assert "wrong year" in shown.splitlines()[-1]
    changes = json.loads(titer("facts", "list", run, "--journal", "--json"))["journal"]
    facts = [(change["kind"], change["num_facts"], change["first_sequence"]) for change in changes]
    assert facts == [("add", 2, 1), ("add", 1, 3), ("remove", 1, 2)]
    assert "journal" not in json.loads(titer("facts", "list", run, "--json"))


@pytest.mark.parametrize("words", [(), ("x",), ("1-",), ("7",), ("0",), ("1-99999999",)])
def test_wrong_numbers_remove_nothing(run: Path, words: tuple[str, ...]):
    assert invoke("facts", "remove", run, *words).exit_code == 1
    assert listed(run) == [1, 2, 3]


def test_an_export_can_be_added_again(run: Path, tmp_path: Path):
    titer("facts", "export", run, tmp_path / "added.csv", "--raw-csv")
    titer("facts", "undo", run)
    titer("facts", "undo", run)
    titer("facts", "add", run, tmp_path / "added.csv")
    titer("facts", "export", run, tmp_path / "again.csv", "--raw-csv")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "added.csv").read_text()


def test_no_cell_of_an_export_is_a_formula(run: Path, tmp_path: Path):
    titer("facts", "export", run, tmp_path / "added.csv")
    assert "Aldoria,accuse,'=1+1,2023-07-02" in (tmp_path / "added.csv").read_text()
    titer("facts", "export", run, tmp_path / "added.jsonl")
    assert '"object": "=1+1"' in (tmp_path / "added.jsonl").read_text()


def test_a_far_future_needs_an_option_and_intervals_are_bounded(run: Path, tmp_path: Path):
    (tmp_path / "far.csv").write_text(HEADER + "Aldoria,accuse,Caldera,9999-12-31\n")
    result = invoke("facts", "add", run, tmp_path / "far.csv")
    assert "--allow-future" in str(result.exception)
    assert titer("facts", "add", run, tmp_path / "far.csv", "--allow-future")
    titer("facts", "undo", run)
    header = "subject,relation,object,start,end\n"
    (tmp_path / "long.csv").write_text(header + "Aldoria,accuse,Drovia,2023-07-05,2023-07-09\n")
    assert "1 row became 5 facts" in titer("facts", "add", run, tmp_path / "long.csv")
