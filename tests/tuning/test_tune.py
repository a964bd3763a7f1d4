"""The search for settings: better than a bad start, resumable, shared by workers, and blind to the test split."""

import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from commands import invoke, titer
from store.conftest import NewStore
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import DataError, MissingPackageError, TiterError
from titer.models.recurrency import Recurrency
from titer.runs.run import Run
from titer.training.config import Config
from titer.tuning import study as study_module
from titer.tuning import tune as tune_module
from titer.tuning.space import search_space
from titer.tuning.tune import SearchResult, tune
from training.tiny_model import TinyModel
from warm_processes import WarmProcess

optuna = pytest.importorskip("optuna")

pytestmark = pytest.mark.slow

LEARNING_RATES = "training.learning_rate=1e-7..0.1"
MAX_SECONDS = 240


def start(**training: Any) -> Config:
    """A bad start: the learning rate is far too small."""
    settings = {"epochs": 2, "learning_rate": 1e-7, "device": "cpu", **training}
    return Config.from_dict({"training": settings, "model": {"dim": 8}}, TinyModel.name)


def run_search(
    data: Dataset, storage: str | Path, *ranges: str, config: Config | None = None, **options: Any
) -> SearchResult:
    config = config or start()
    space = search_space(config, [], list(ranges or [LEARNING_RATES]))
    return tune(data, config, space, storage, **{"seed": 0, "trials": 4, **options})


def test_the_search_finds_settings_better_than_a_bad_start(world_data: Dataset, tmp_path: Path):
    training = {"epochs": 3, "learning_rate": 1e-7, "device": "cpu"}
    bad = Config.from_dict({"training": training, "model": {"dim": 16}}, "ttranse")
    space = search_space(bad, ["model.dim=16", "training.batch_size=512"], [LEARNING_RATES])
    assert set(space) == {"training.learning_rate", "model.dropout"}
    found = tune(world_data, bad, space, tmp_path / "study.db", trials=10, seed=0)
    assert found.trials[0] is not None
    assert found.mrr > 1.5 * found.trials[0]
    assert found.config.training.learning_rate > 1e-3
    assert found.config.training.epochs == 3
    assert list(found.trials) == list(range(10))
    assert found.importance["training.learning_rate"] > found.importance["model.dropout"]


class Unreadable(Facts):
    """Facts that must not be read."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__init__"):
            return object.__getattribute__(self, name)
        raise AssertionError(f"the test split was read: {name}")

    def __len__(self) -> int:
        raise AssertionError("the test split was read: len")


def test_the_test_split_is_never_read(world_data: Dataset, tmp_path: Path):
    hidden = replace(world_data, test=Unreadable())
    with pytest.raises(AssertionError, match="was read"):
        _ = hidden.checksum
    with pytest.raises(AssertionError, match="was read"):
        len(hidden.test)
    found = run_search(hidden, tmp_path / "hidden.db", trials=2)
    assert found.trials == run_search(world_data, tmp_path / "shown.db", trials=2).trials


def test_a_search_continues_where_it_stopped(world_data: Dataset, new_store: NewStore):
    storage = new_store()
    first = run_search(world_data, storage, trials=2)
    seen: list[int] = []
    second = run_search(world_data, storage, trials=4, seed=1, report=lambda result: seen.append(len(result.trials)))
    assert seen == [3, 4]
    assert {number: second.trials[number] for number in first.trials} == dict(first.trials)
    again = run_search(world_data, storage, trials=4, report=lambda _: pytest.fail("nothing was left to try"))
    assert again == second


def test_a_search_does_not_continue_with_other_settings_ranges_or_data(world_data: Dataset, tmp_path: Path):
    storage = tmp_path / "study.db"
    run_search(world_data, storage, trials=1)
    with pytest.raises(TiterError, match="'tiny/small-world' was started with other settings"):
        run_search(world_data, storage, config=start(epochs=1))
    with pytest.raises(TiterError, match="was started with other ranges"):
        run_search(world_data, storage, "model.dim=4,8")
    with pytest.raises(TiterError, match="was started with other data"):
        run_search(replace(world_data, valid=world_data.valid[:10]), storage)
    assert len(run_search(world_data, storage, "model.dim=4,8", study="another", trials=1).trials) == 1


def test_trials_that_fall_behind_are_stopped_early(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(study_module, "NUM_STARTUP_TRIALS", 1)
    ranges = "training.learning_rate=0.02,1e-9"
    found = run_search(world_data, tmp_path / "study.db", ranges, config=start(epochs=4, learning_rate=0.02), trials=8)
    assert found.config.training.learning_rate == 0.02
    assert found.stopped
    assert found.number not in found.stopped


def test_a_failed_trial_is_counted_and_the_search_goes_on(
    world_data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    found = run_search(world_data, tmp_path / "study.db", "model.fail_at=-1,1", trials=6)
    failed = [number for number, value in found.trials.items() if value is None]
    assert failed
    assert f"trial {failed[0]} failed: the loss became nan" in capsys.readouterr().err
    assert found.config.model.fail_at == -1


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupted_trial_is_not_counted_and_tried_again(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
):
    original, begun = tune_module.train, list[float]()

    def interrupt(dataset: Dataset, config: Config, *places: Any, **options: Any) -> Run:
        begun.append(config.training.learning_rate)
        if len(begun) == at:
            raise KeyboardInterrupt
        return original(dataset, config, *places, **options)

    monkeypatch.setattr(tune_module, "train", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_search(world_data, tmp_path / "study.db", trials=4)
    found = run_search(world_data, tmp_path / "study.db", trials=4, seed=1)
    assert len(found.trials) == 4
    assert None not in found.trials.values()
    assert len(begun) == 5
    assert begun[at] == begun[at - 1]


def test_the_command_says_how_an_interrupted_search_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_: Any, **__: Any) -> Run:
        raise KeyboardInterrupt

    monkeypatch.setattr(tune_module, "train", interrupt)
    monkeypatch.chdir(tmp_path)
    result = invoke("tune", "small-world", "--model", "recurrency", "--trials", "1")
    assert result.exit_code == 130
    assert "interrupted; the same command continues the search" in result.stderr
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    said = titer("tune", "small-world", "--model", "recurrency", "--trials", "1")
    assert said.startswith("1 trial, 0 of them stopped early, 0 failed")


def test_without_a_validation_split_there_is_nothing_to_choose_by(world_data: Dataset, tmp_path: Path):
    with pytest.raises(DataError, match="has no validation split"):
        run_search(replace(world_data, valid=Facts.empty()), tmp_path / "study.db")


def test_without_optuna_the_extra_is_named(world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'titer\[tune\]'"):
        run_search(world_data, tmp_path / "study.db")


def test_without_the_driver_of_postgresql_the_extra_is_named(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'titer\[postgres\]'"):
        run_search(world_data, "postgresql://user@localhost/tuning")


def test_two_workers_share_the_trials_of_one_storage(new_store: NewStore, tmp_path: Path):
    storage = new_store()
    words = ["tune", "small-world", "--model", "recurrency", "--storage", storage, "--trials", "6"]
    workers = [
        WarmProcess(
            *words,
            *("--seed", str(number), "--out", str(tmp_path / f"{number}.toml")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(2)
    ]
    for worker in workers:
        _, message = worker.communicate(timeout=MAX_SECONDS)
        assert worker.returncode == 0, message
    with study_module.opened_storage(storage) as opened:
        trials = optuna.load_study(study_name="recurrency/small-world", storage=opened).trials
    done = [trial for trial in trials if trial.state == optuna.trial.TrialState.COMPLETE]
    assert len(done) == 6
    assert len({tuple(sorted(trial.params.items())) for trial in done}) >= 5
    (best,) = {(tmp_path / f"{number}.toml").read_text() for number in range(2)}
    assert f"prior = {max(done, key=lambda trial: trial.value or 0).params['model.prior']!r}" in best


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_worker_waits_for_the_last_trial_of_another(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    storage = tmp_path / "study.db"
    first = run_search(world_data, storage, trials=1)
    with study_module.opened_storage(storage) as opened:
        study = optuna.load_study(study_name="tiny/small-world", storage=opened)
        other = study.ask()
        other.suggest_float("training.learning_rate", 1e-7, 0.1, log=True)
        assert run_search(world_data, storage, trials=2, timeout=0.01) == first
        monkeypatch.setattr(tune_module.time, "sleep", lambda _: study.tell(other, 0.9))
        found = run_search(world_data, storage, trials=2)
    assert (found.mrr, found.number, len(found.trials)) == (0.9, 1, 2)
    assert "waiting for the last trials of other workers: 1" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_of_workers_that_begin_together_one_gives_up_its_trial(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    storage = tmp_path / "study.db"
    run_search(world_data, storage, trials=1)
    with study_module.opened_storage(storage) as opened:
        study = optuna.load_study(study_name="tiny/small-world", storage=opened)
        original, others = tune_module.running_trials, list[Any]()

        def begin_after(searched: Any) -> Any:
            seen = original(searched)
            if not others:
                others.append(study.ask())
                others[0].suggest_float("training.learning_rate", 1e-7, 0.1, log=True)
            return seen

        monkeypatch.setattr(tune_module, "running_trials", begin_after)
        monkeypatch.setattr(tune_module.time, "sleep", lambda _: study.tell(others[0], 0.9))
        found = run_search(world_data, storage, trials=2)
        states = [trial.state.name for trial in study.get_trials()]
    assert states == ["COMPLETE", "COMPLETE", "FAIL"]
    assert (list(found.trials), found.number) == ([0, 1], 1)


SLOW_WORKER = """
import sys, time
import titer
from titer.training.config import Config
from titer.tuning import study, tune
from titer.tuning.space import search_space
from training.tiny_model import TinyModel
study.HEARTBEAT_SECONDS, study.GRACE_SECONDS = 1, 3
original = tune.train
def slow(*args, **options):
    print("begun", flush=True)
    time.sleep(60)
    return original(*args, **options)
tune.train = slow
tables = {"training": {"epochs": 2, "learning_rate": 1e-7, "device": "cpu"}, "model": {"dim": 8}}
config = Config.from_dict(tables, "tiny")
space = search_space(config, [], ["training.learning_rate=1e-7..0.1"])
tune.tune(titer.load_dataset("small-world"), config, space, sys.argv[1], trials=2)
"""


def _wait_for_heartbeat(path: Path):
    # Optuna reports the first heartbeat from a thread that starts together with the trial.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with closing(sqlite3.connect(path, timeout=30)) as database:
            if database.execute("SELECT count(*) FROM trial_heartbeats").fetchone()[0]:
                return
        time.sleep(0.05)
    pytest.fail("the worker reported no heartbeat")


def test_the_trial_of_a_killed_worker_is_tried_again(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    worker = WarmProcess("-c", SLOW_WORKER, storage, stdout=subprocess.PIPE)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "begun\n"
    _wait_for_heartbeat(tmp_path / "study.db")
    worker.send_signal(signal.SIGKILL)
    worker.wait(30)
    worker.stdout.close()
    monkeypatch.setattr(study_module, "HEARTBEAT_SECONDS", 1)
    monkeypatch.setattr(study_module, "GRACE_SECONDS", 3)
    time.sleep(4)
    run_search(world_data, storage, trials=3)
    with study_module.opened_storage(storage) as opened:
        tried = optuna.load_study(study_name="tiny/small-world", storage=opened).trials
    rates = [trial.params["training.learning_rate"] for trial in tried if trial.value is not None]
    assert tried[0].state == optuna.trial.TrialState.FAIL
    assert 1e-7 in rates


def test_the_command_writes_a_configuration_that_train_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    said = titer("tune", "small-world", "--model", "recurrency", "--trials", "4", "--seed", "1", "--timeout", "10m")
    assert "4 trials, 0 of them stopped early, 0 failed" in said
    for words in ("setting", "importance", "model.prior", "model.shrinkage", "%"):
        assert words in said
    titer("train", "small-world", "--config", "best.toml", "--out", "run")
    (evaluation,) = Run("run").evaluations
    assert f"best.toml: validation MRR {100 * evaluation['metrics']['mrr']:.2f}" in said
    for picture in ("best.svg", "best-importance.svg"):
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    # The same command again continues the search, which is complete.
    assert titer("tune", "small-world", "--model", "recurrency", "--trials", "4", "--seed", "1") == said


def test_the_first_trial_has_the_defaults_for_the_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def defaults(given: Mapping[str, Any], num_facts: int | None = None, device: str = "cpu") -> dict[str, int]:
        return {"batch_size": 64 if num_facts is None else 96}

    monkeypatch.setattr(Recurrency, "training_defaults", defaults)
    monkeypatch.chdir(tmp_path)
    titer("tune", "small-world", "--model", "recurrency", "--search", "training.batch_size=32,64", "--trials", "1")
    assert tomllib.loads(Path("best.toml").read_text(encoding="utf-8"))["training"]["batch_size"] == 96


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--timeout", "soon"), "--timeout must be a number with a unit"),
        (("--out", "best.json"), "choose a name that ends in .toml"),
        (("--storage", "mysql://host/name"), "unsupported database mysql"),
    ],
)
def test_wrong_options_are_errors_that_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
):
    monkeypatch.chdir(tmp_path)
    result = invoke("tune", "small-world", "--model", "recurrency", *words)
    assert result.exit_code != 0
    assert message in str(result.exception)


@pytest.mark.parametrize("shared", [True, False])
def test_a_file_of_the_user_is_not_replaced(tmp_path: Path, shared: bool):
    out = tmp_path / "mine.toml"
    out.write_text("# mine")
    words = ["--storage", f"sqlite:///{tmp_path / 'shared.db'}"] if shared else []
    result = invoke("tune", "small-world", "--model", "recurrency", "--trials", "1", "--out", out, *words)
    assert "mine.toml already exists; choose another file or pass --overwrite" in str(result.exception)
    assert out.read_text() == "# mine"


def test_only_a_search_for_the_same_model_and_dataset_replaces_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    search, out = ["tune", "small-world", "--trials", "1", "--model"], Path("best.toml")
    titer(*search, "recurrency")
    first = out.read_text()
    quick = ["--set", "training.epochs=1", "--set", "model.dim=8"]
    assert "best.toml already exists" in str(invoke(*search, "ttranse", *quick).exception)
    assert out.read_text() == first
    titer(*search, "recurrency", "--study", "another")
    assert out.read_text() == first
    titer(*search, "ttranse", *quick, "--overwrite")
    assert out.read_text().startswith("# Found by titer tune for ttranse on small-world: ")
