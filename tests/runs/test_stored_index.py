"""Trainings with stored indexes: the same numbers, of the right facts, built once."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from commands import titer, titer_process
from conftest import SMALL_CONFIGS
from titer.data.dataset import Dataset
from titer.data.dataset_folder import open_dataset, save_dataset
from titer.errors import ConfigError
from titer.evaluation.evaluate import evaluate
from titer.evaluation.task import EvaluationTask
from titer.graph import stored_history
from titer.graph.history import History
from titer.graph.pair_index import PairIndex
from titer.runs.refit import refit
from titer.runs.run import Run
from titer.runs.train import train
from titer.training import loop
from titer.training.layout import MODEL

CONFIG = SMALL_CONFIGS["path_mixture"]
SWITCH = "TITER_INDEX"
PARTS = ["train+valid/history", "train+valid/pairs", "train/history", "train/pairs"]


@pytest.fixture
def folder(world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset folder whose indexes are stored."""
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(SWITCH, "always")
    save_dataset(world_data, tmp_path / "data")
    return tmp_path / "data"


def stored(folder: Path, name: str = "") -> list[str]:
    """Return the stored indexes of a dataset folder, or of a dataset in the cache."""
    index = folder / "index" / name
    return sorted(path.parent.relative_to(index).as_posix() for path in index.rglob("columns.json"))


def results(run: Run) -> list[Any]:
    """Return what a training found: weights, log and metrics, without times."""
    weights = {name: tensor.tolist() for name, tensor in load_file(run.path / MODEL).items()}
    log = [{key: value for key, value in row.items() if "second" not in key} for row in run.log_rows]
    return [weights, log, run.summary["temperature"], [found["metrics"] for found in run.evaluations]]


def never(*_: object) -> None:
    raise AssertionError("an index is built")


def test_a_wrong_value_of_the_variable_stops_a_training_before_it_begins(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(SWITCH, "of")
    with pytest.raises(ConfigError, match="TITER_INDEX must be off or always"):
        train(open_dataset(folder), CONFIG, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_training_stores_and_maps_its_indexes_and_gives_the_same_numbers(
    folder: Path, path_mixture_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = train(open_dataset(folder), CONFIG, tmp_path / "first")
    assert stored(folder) == PARTS
    with monkeypatch.context() as patch:
        patch.setattr(stored_history, "write_columns", never)
        patch.setattr(PairIndex, "__init__", never)
        again = train(open_dataset(folder), CONFIG, tmp_path / "again")
    monkeypatch.setenv(SWITCH, "off")
    in_memory = train(open_dataset(folder), CONFIG, tmp_path / "memory")
    assert results(first) == results(again) == results(in_memory) == results(Run(path_mixture_run))
    assert not any((run.path / "dataset" / "index").exists() for run in (first, again, in_memory))


def test_training_never_opens_the_index_of_later_facts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _ = stored_history.history_of(open_dataset(folder)).pair_index
    opened, histories = list[Path](), list[History]()
    open_columns, make_stepper = stored_history.open_columns, loop.make_stepper
    monkeypatch.setattr(
        stored_history, "open_columns", lambda path, source: opened.append(path) or open_columns(path, source)
    )
    monkeypatch.setattr(loop, "make_stepper", lambda *given: histories.append(given[3]) or make_stepper(*given))
    dataset = open_dataset(folder)
    train(dataset, CONFIG, tmp_path / "run")
    places = {path.relative_to(folder / "index").as_posix() for path in opened if path.is_relative_to(folder)}
    assert sorted(places) == PARTS
    (history,) = histories
    assert history.num_edges == 2 * len(dataset.train)
    assert history.last_time == int(dataset.train.time.max()) < int(dataset.valid.time.min())


def test_commands_share_the_index_of_the_dataset_and_leave_the_run_small(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    words = ["train", folder, "--model", "recurrency"]
    titer(*words, "--out", tmp_path / "seeds", "--seeds", "0,1")
    # Recurrency has no optimisation steps; the training facts are indexed to measure horizons.
    assert stored(folder) == ["train+valid/history", "train/history"]
    monkeypatch.setattr(stored_history, "write_columns", never)
    titer(*words, "--out", tmp_path / "other")
    for run in ("seeds/seed0", "seeds/seed1", "other"):
        assert Run(tmp_path / run).summary["horizons"]
        assert not (tmp_path / run / "dataset" / "index").exists()


def test_forecasts_use_the_index_that_training_on_all_facts_stored(
    folder: Path, path_mixture_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    new = refit(Run(path_mixture_run), tmp_path / "new", overwrite=True)
    assert stored(new.path / "dataset") == ["history", "pairs"]
    monkeypatch.setattr(stored_history, "write_columns", never)
    history = stored_history.history_of(Run(new.path).dataset)
    assert isinstance(history.pair_index, PairIndex)
    assert history.num_edges == 2 * len(new.dataset.facts)
    monkeypatch.setenv(SWITCH, "off")
    assert results(new) == results(refit(Run(path_mixture_run), tmp_path / "memory"))


def test_runs_with_the_same_facts_share_the_indexes_of_parts(
    folder: Path, path_mixture_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    runs = [shutil.copytree(path_mixture_run, tmp_path / name) for name in ("first", "second")]
    shutil.rmtree(folder)
    for run in runs:
        dataset = Run(run).dataset
        evaluate(Run(run).load_model("cpu"), dataset, "valid")
        train(dataset, CONFIG, run, overwrite=True)
        assert not (run / "dataset" / "index").exists()
        assert stored(tmp_path / "cache", dataset.checksum[:32]) == PARTS
        monkeypatch.setattr(stored_history, "write_columns", never)
    monkeypatch.undo()
    monkeypatch.setenv(SWITCH, "always")
    (tmp_path / "file").touch()
    monkeypatch.setenv("TITER_CACHE", str(tmp_path / "file"))
    EvaluationTask(Run(runs[0]).dataset, "valid")
    assert stored(runs[0] / "dataset") == ["train+valid/history"]


@pytest.mark.slow
@pytest.mark.xdist_group("parallel")
@pytest.mark.timeout(600)
def test_processes_that_train_together_share_the_index(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = ["model.dim=8", "model.hidden_dim=8", "training.epochs=1", "training.device=cpu"]
    words = ["train", str(folder), "--model", "path_mixture", *(word for one in settings for word in ("--set", one))]

    def trained(out: Path) -> tuple[subprocess.CompletedProcess[str], Run]:
        done = titer_process(*words, "--out", out, "--workers", "2")
        assert done.returncode == 0, done.stderr
        return done, Run(out)

    _, first = trained(tmp_path / "first")
    assert stored(folder) == PARTS
    files = {path: path.stat().st_ino for path in (folder / "index").rglob("*.bin")}
    again, second = trained(tmp_path / "second")
    assert "indexing" not in again.stderr
    assert files == {path: path.stat().st_ino for path in files}
    monkeypatch.setenv(SWITCH, "off")
    _, in_memory = trained(tmp_path / "memory")
    assert results(first) == results(second) == results(in_memory)
