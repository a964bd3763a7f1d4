"""Added facts are used by the next question, with every model."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import invoke as titer
from conftest import SMALL_CONFIGS
from store.postgres import Server
from titer import Forecaster
from titer.data.dataset import Dataset
from titer.errors import TiterError, UnknownNameError
from titer.runs.run import Run
from titer.runs.train import train
from titer.store.facts import FactStore, NamedFact
from titer.training.config import Config

pytestmark = pytest.mark.slow

LAST = "2023-06-30"
HEADER = "subject,relation,object,time\n"
DAYS = [f"2023-07-{day:02}" for day in range(1, 9)]
NEW = HEADER + "".join(f"Aldoria,hold talks with,Newland,{day}\n" for day in DAYS)


@pytest.fixture(scope="module")
def trained(
    world_data: Dataset, trained_run: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    walks = Config.from_dict({"model": {"num_walks": 300}}, "random_walk")
    run = train(world_data, walks, tmp_path_factory.mktemp("trained") / "random_walk")
    return {"random_walk": run.path, **{name: trained_run(name) for name in SMALL_CONFIGS}}


@pytest.fixture
def run(trained: dict[str, Path], tmp_path: Path) -> Path:
    """Return a copy of a run, to add facts to."""
    return shutil.copytree(trained["recurrency"], tmp_path / "run")


def close(numbers: dict[str, float]) -> Any:
    """Return the same numbers up to the order of summation."""
    return pytest.approx(numbers, rel=1e-4, abs=1e-6)


def add(run: Path, text: str, *words: str) -> dict[str, Any]:
    file = run.parent / "new.csv"
    file.write_text(text, encoding="utf-8")
    result = titer("facts", "add", run, file, "--json", *words)
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def answers(forecaster: Forecaster, subject: str, at: str) -> dict[str, float]:
    """Return score and probability of every answer."""
    found = forecaster.ask(subject, "hold talks with", at=at, top=1000).answers
    return {f"{answer.entity} {name}": getattr(answer, name) for answer in found for name in ("score", "probability")}


@pytest.mark.parametrize("model", [*SMALL_CONFIGS, "random_walk"])
def test_added_facts_are_used_by_the_next_question(trained: dict[str, Path], tmp_path: Path, model: str):
    run = shutil.copytree(trained[model], tmp_path / "run")
    running = Forecaster.load(run, "cpu")
    with pytest.raises(UnknownNameError):
        running.ask("Newland", "hold talks with")
    before = answers(running, "Aldoria", DAYS[0])
    added = add(run, NEW)
    assert (added["added"], added["new_entities"]) == (8, ["Newland"])
    for forecaster in (running, Forecaster.load(run, "cpu")):  # one that was loaded before, and one after
        found = forecaster.ask("Aldoria", "hold talks with", top=1000, explain=1000)
        assert (found.time, found.ahead) == ("2023-07-09", 1)
        (added_entity,) = [answer for answer in found.answers if answer.entity == "Newland"]
        seen = {fact.time for reason in added_entity.reasons for fact in reason.facts if fact.object == "Newland"}
        assert seen <= set(DAYS)
        assert seen
        # The new entity can be asked about as subject and as object.
        assert forecaster.ask("newland", "accuse").answers
        assert forecaster.ask(None, "hold talks with", "Newland").answers[0].probability > 0
        # Facts and names at the question's time or later do not affect it.
        assert answers(forecaster, "Aldoria", DAYS[0]) == close(before)
        untouched = Forecaster.load(trained[model], "cpu")
        assert answers(forecaster, "Aldoria", LAST) == close(answers(untouched, "Aldoria", LAST))


def test_a_backfill_affects_only_later_questions(run: Path):
    forecaster = Forecaster.load(run, "cpu")
    early, late = (answers(forecaster, "Aldoria", at) for at in ("2023-03-01", "2023-07-01"))
    text = HEADER + "Aldoria,hold talks with,Newland,2023-03-01\n"
    (run.parent / "old.csv").write_text(text)
    refused = titer("facts", "add", run, run.parent / "old.csv")
    assert refused.exit_code != 0
    assert "row 2: 2023-03-01 is 121 days before the last known step, 2023-06-30" in str(refused.exception)
    assert add(run, text, "--backfill")["backfilled"] == 1
    forecaster = Forecaster.load(run, "cpu")
    assert answers(forecaster, "Aldoria", "2023-03-01") == close(early)
    assert "Newland score" in answers(forecaster, "Aldoria", "2023-03-02")
    assert answers(forecaster, "Aldoria", "2023-07-01") != close(late)
    assert forecaster.ask("Aldoria", "accuse").time == "2023-07-01"


def test_added_facts_are_listed(run: Path):
    assert "0 added facts" in titer("facts", "list", run).stdout
    add(run, NEW)
    assert add(run, NEW)["known"] == 8
    shown = titer("facts", "list", run, "--last", "2").stdout
    assert "8 added facts" in shown
    assert DAYS[-1] in shown
    assert DAYS[-3] not in shown
    found = json.loads(titer("facts", "list", run, "--json").stdout)
    assert found["facts"] == 8
    assert (found["latest"][-1]["object"], found["latest"][-1]["time"]) == ("Newland", DAYS[-1])


def test_the_command_reports_added_and_rejected_rows(run: Path):
    file = run.parent / "new.csv"
    rows = "Aldoria,marry,Brenmark,2023-07-01\n\nAldoria,hold talks with,Newland,2023-06-01\n"
    file.write_text(NEW + rows)
    refused = titer("facts", "add", run, file)
    assert isinstance(refused.exception, TiterError)
    assert f"{file}, row 10, column 'relation': unknown relation 'marry'" in str(refused.exception)
    result = titer("facts", "add", run, file, "--bad-rows", "skip")
    assert "8 facts added" in result.stdout
    assert "entities unseen in training: Newland" in result.stdout
    assert "skipped 2 invalid rows" in result.stderr
    assert (run.parent / "new.csv.rejected.csv").read_text().count("\n") == 3
    assert "8 already known" in titer("facts", "add", run, file, "--bad-rows", "skip").stdout


def test_processes_can_share_a_store_by_its_url(run: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch):
    address = postgres.new_store()
    assert add(run, NEW, "--store", address)["added"] == 8
    assert not (run / "facts.db").exists()
    words = ["forecast", run, "Newland", "hold talks with", "--device", "cpu", "--json"]
    assert isinstance(titer(*words).exception, UnknownNameError)
    assert json.loads(titer(*words, "--store", address).stdout)["time"] == "2023-07-09"
    monkeypatch.setenv("TITER_STORE", address)
    assert json.loads(titer(*words).stdout)["time"] == "2023-07-09"
    one, other = Forecaster.load(run, "cpu", address), Forecaster.load(run, "cpu", address)
    with FactStore(address, Run(run).dataset) as store:
        store.add([NamedFact("Otherland", "accuse", "Newland", Run(run).dataset.axis.step("2023-07-20"))])
    for forecaster in (one, other):
        assert forecaster.ask("Otherland", "accuse").time == "2023-07-21"


def test_a_run_with_added_facts_is_not_overwritten(run: Path, world_data: Dataset):
    add(run, NEW)
    with pytest.raises(TiterError, match="facts that were added"):
        train(world_data, Config.load(model="recurrency"), run, overwrite=True)
    assert Forecaster.load(run, "cpu").ask("Newland", "accuse").answers
    assert train(world_data, Config.load(model="recurrency"), run, resume=True).is_finished


def test_a_directory_that_is_not_a_run_is_refused(tmp_path: Path):
    (tmp_path / "new.csv").write_text(NEW)
    assert "not a run directory" in str(titer("facts", "add", tmp_path, tmp_path / "new.csv").exception)
    assert not (tmp_path / "facts.db").exists()


def test_a_run_with_an_empty_store_can_be_overwritten(world_data: Dataset, tmp_path: Path):
    run = train(world_data, Config.load(model="recurrency"), tmp_path / "run")
    FactStore(run.store_path, world_data).close()
    assert run.store_path.exists()
    train(world_data, Config.load(model="recurrency"), tmp_path / "run", overwrite=True)
    assert not run.store_path.exists()


def test_a_damaged_store_is_not_overwritten(world_data: Dataset, tmp_path: Path):
    run = train(world_data, Config.load(model="recurrency"), tmp_path / "run")
    run.store_path.write_bytes(b"no database, and perhaps all that is left of one")
    with pytest.raises(TiterError, match="which are never overwritten"):
        train(world_data, Config.load(model="recurrency"), tmp_path / "run", overwrite=True)
    assert run.store_path.exists()
