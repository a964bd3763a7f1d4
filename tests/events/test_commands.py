"""The commands titer events, likely and when, and titer evaluate --events."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from commands import invoke, titer
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import TiterError
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.events.storage import save_events
from titer.forecasting.events.render import EVENT_SHARES
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from titer.training.layout import EVENT_METRICS, EVENTS

pytestmark = pytest.mark.slow  # a run with an event model takes seconds
TALKS = ("Lumeria", "hold talks", "Aldoria")


@pytest.fixture(scope="module")
def run(world_data: Dataset, events: EventModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with an event model."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train(world_data, Config.from_dict({}, "recurrency"), path)
    save_events(events, path / EVENTS)
    return path


def test_events_are_listed(run: Path):
    shown = titer("events", run, "--within", "7d", "--top", "3", "--explain")
    assert "all events, the 7 days from 1 Jul 2023 to 7 Jul 2023" in shown
    assert "  1. " in shown
    assert "because:" in shown
    assert shown.rstrip().endswith(EVENT_SHARES)
    assert EVENT_SHARES not in titer("events", run, "--within", "7d", "--top", "3")


def test_events_as_json_have_the_filters(run: Path):
    found = json.loads(titer("events", run, "--subject", "aldoria", "--top", "2", "--json"))
    assert found["subject"] == "Aldoria"
    assert [event["subject"] for event in found["events"]] == ["Aldoria", "Aldoria"]


def test_events_are_written_to_a_file(run: Path, tmp_path: Path):
    titer("events", run, "--top", "5", "--out", tmp_path / "events.parquet")
    assert pq.read_table(tmp_path / "events.parquet").num_rows == 5
    assert isinstance(invoke("events", run, "--out", tmp_path / "events.parquet").exception, TiterError)


def test_likely_and_when_answer_about_one_event(run: Path):
    assert "that it happens again" in titer("likely", run, *TALKS, "--within", "10d")
    words = titer("when", run, *TALKS)
    assert "50% by" in words
    assert "Bars show the probability that it has not happened yet." in words
    assert len(json.loads(titer("when", run, *TALKS, "--json"))["curve"]) == 30


@pytest.mark.parametrize(
    "command",
    [
        ("events", "--within", "7d", "--top", "3", "--explain"),
        ("likely", *TALKS, "--explain"),
        ("when", *TALKS, "--explain"),
    ],
)
def test_lines_are_wrapped_in_a_terminal_only(run: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]):
    name, *rest = command
    piped = titer(name, run, *rest)
    assert any(len(line) > 70 for line in piped.splitlines())
    monkeypatch.setattr("titer.cli.event_questions.terminal_width", lambda: 70)
    shown = titer(name, run, *rest)
    assert all(len(line) <= 70 for line in shown.splitlines())
    assert re.sub(r"[█\s]+", " ", shown) == re.sub(r"[█\s]+", " ", piped)


def test_the_rate_is_on_a_second_line_where_a_line_is_too_long(run: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("titer.cli.event_questions.terminal_width", lambda: 70)
    lines = titer("events", run, "--within", "7d", "--top", "2").splitlines()
    first, second, third = lines[lines.index("") + 1 :][:3]
    assert re.fullmatch(r"   1\. +[\d.>]+%  .* — .* — .*", first)
    assert second.startswith("              usually")
    assert third.startswith(("   2.", "              "))


def test_a_file_of_questions_is_answered_row_by_row(run: Path, tmp_path: Path):
    questions = tmp_path / "questions.csv"
    questions.write_text(
        "subject,relation,object,time\nLumeria,hold talks with,Aldoria,\nUnknownia,accuse,Aldoria,\n"
        "Aldoria,accuse,Brenmark,2023-06-01\n"
    )
    titer("likely", run, "--file", questions, "--within", "7d", "--out", tmp_path / "answers.csv")
    rows = pacsv.read_csv(tmp_path / "answers.csv").to_pylist()
    assert [row["question"] for row in rows] == [1, 2, 3]
    assert "unknown entity 'Unknownia'" in rows[1]["error"]
    assert str(rows[2]["start"]) == "2023-06-01"
    assert 0 < rows[0]["probability"] < 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("likely",), "give SUBJECT RELATION OBJECT"),
        (("likely", *TALKS, "--within", "40d"), "1 to 30 time steps, not 40"),
        (("events", "--subject", "Aldorra"), "unknown entity"),
        (("when", *TALKS, "--from", "soon"), "not a date"),
        (("events", "--out", "events.docx"), "unknown format"),
    ],
)
def test_errors_say_what_to_do(run: Path, words: tuple[str, ...], message: str):
    command, *rest = words
    failed = invoke(command, run, *rest)
    assert isinstance(failed.exception, TiterError)
    assert message in str(failed.exception)


def test_an_evaluation_of_events_is_recorded(run: Path):
    shown = titer("evaluate", run, "--events", "--split", "valid")
    assert "mean of rates" in shown
    assert "reliability" in shown
    (record,) = json.loads((run / EVENT_METRICS).read_text())["evaluations"]
    assert (record["split"], record["horizon"]) == ("valid", 1)
    last = titer("evaluate", run, "--events", "--split", "valid", "--until", "2023-06-05")
    assert "valid split until 2023-06-05" in last
    assert (first := one_step_events(shown)) > one_step_events(last) > 0.3 * first


def one_step_events(shown: str) -> int:
    """Return the number of events in the heading of an evaluation one step ahead."""
    return int(re.findall(r"1 step ahead: ([\d,]+) events", shown)[0].replace(",", ""))


def test_an_evaluation_mentions_a_last_step_that_seems_incomplete(
    world_data: Dataset, events: EventModel, tmp_path: Path
):
    valid = world_data.valid
    last = int(valid.time.max())
    few = Facts.concatenate(valid[valid.time < last], valid[valid.time == last][:1])
    train(replace(world_data, valid=few), Config.from_dict({}, "recurrency"), tmp_path / "run")
    save_events(events, tmp_path / "run" / EVENTS)
    command = ("evaluate", tmp_path / "run", "--events", "--split", "valid")
    before = world_data.axis.label(last - 1)
    assert f"the last step has 1 fact, far fewer than others; if it is incomplete, add --until {before}" in (
        invoke(*command).stderr
    )
    assert "incomplete" not in invoke(*command, "--until", before).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--until", "2023-06-05"), "--until needs --events"),
        (("--horizon", "7"), "--horizon needs --events"),
        (("--events", "--filter", "raw"), "leave out --filter"),
        (("--events", "--split", "valid", "--until", "2023-05-28"), "the last step to evaluate"),
        (("--events", "--until", "soon"), "'soon' is not a date like"),
    ],
)
def test_options_that_have_no_effect_on_an_evaluation_are_refused(run: Path, words: tuple[str, ...], message: str):
    assert message in str(invoke("evaluate", run, *words).exception)


def test_a_run_that_is_overwritten_loses_its_event_model(world_data: Dataset, tmp_path: Path):
    run = Run.create(tmp_path / "run", Config.from_dict({}, "recurrency"), world_data)
    (run.path / EVENTS).write_bytes(b"old")
    Run.create(tmp_path / "run", Config.from_dict({}, "recurrency"), world_data, overwrite=True)
    assert not (run.path / EVENTS).exists()


def test_a_run_without_an_event_model_trains_it_once_and_says_so(
    run: Path, quick: EventConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Training with the settings of a test, which takes less than a second.
    monkeypatch.setattr("titer.runs.events.EventConfig", lambda seed: replace(quick, seed=seed))
    # A log file receives a line for every optimisation step instead of one every 30 seconds.
    monkeypatch.setattr("titer.progress.FIRST_LINE", 0.0)
    monkeypatch.setattr("titer.progress.NEXT_LINES", 0.0)
    copy = tmp_path / "run"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns(EVENTS))
    first, second = (invoke("events", copy, "--top", "2") for _ in range(2))
    assert "training the event model, once for this run" in first.stderr
    for part in ("network 1 of 1", "new facts", "calibration"):
        assert re.search(f"event model, {part}: 1 of [0-9]+, .* left", first.stderr), first.stderr
    assert second.stderr == ""
    assert second.stdout == first.stdout
    assert (copy / EVENTS).is_file()


def test_a_run_that_cannot_be_written_to_says_that_its_event_model_is_not_kept(
    run: Path, quick: EventConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr("titer.runs.events.EventConfig", lambda seed: replace(quick, seed=seed))
    monkeypatch.setattr("titer.runs.events.save_events", refuse)
    copy = tmp_path / "run"
    shutil.copytree(run, copy, ignore=shutil.ignore_patterns(EVENTS))
    assert "cannot be written to, so the event model is not kept" in invoke("events", copy, "--top", "2").stderr
