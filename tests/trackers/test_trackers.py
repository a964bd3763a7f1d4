"""Trackers: what the real libraries have recorded is what the training log has."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from titer import StopTraining, TrackedTraining, Tracker
from titer.data.dataset import Dataset
from titer.errors import MissingPackageError, PluginError, TiterError, UnknownNameError
from titer.runs.run import Run
from titer.runs.train import train
from titer.trackers.registry import make_tracker, make_trackers, tracker_names
from titer.training.config import Config
from training.tiny_model import TinyModel

EPOCHS = 3


def config(epochs: int = EPOCHS) -> Config:
    return Config.from_dict({"training": {"epochs": epochs, "device": "cpu"}, "model": {"dim": 4}}, TinyModel.name)


class Recorder(Tracker):
    """Records all calls; raises an exception at one of them."""

    def __init__(self, fails_at: str = "", error: BaseException | None = None):
        self.calls: list[str] = []
        self.fails_at, self.error = fails_at, error

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails_at and self.error is not None:
            raise self.error

    def start(self, training: TrackedTraining, previous: str | None) -> str | None:
        self._call(f"start {training.model} {training.settings['training.epochs']} {previous}")
        return "id-1"

    def log(self, epoch: int, values: Mapping[str, float]) -> None:
        assert {"loss", "valid_mrr", "seconds"} <= set(values)
        self._call(f"log {epoch}")

    def summarise(self, values: Mapping[str, float]) -> None:
        self._call(f"summarise {sorted(values)}")

    def close(self, *, failed: bool) -> None:
        self._call(f"close {failed}")


def test_a_tracker_receives_settings_epochs_result_and_end(world_data: Dataset, tmp_path: Path):
    recorder = Recorder()
    train(world_data, config(2), tmp_path / "run", trackers={"recorder": recorder})
    expected = ["start tiny 2 None", "log 1", "log 2", "summarise ['seconds', 'valid_mrr']", "close False"]
    assert recorder.calls == expected


def test_a_model_without_epochs_is_tracked_too(world_data: Dataset, tmp_path: Path):
    recorder = Recorder()
    train(world_data, Config.load(model="recurrency"), tmp_path / "run", trackers={"recorder": recorder})
    assert recorder.calls[1:] == ["summarise ['seconds', 'valid_mrr']", "close False"]


def test_a_resumed_training_continues_under_its_identifier(world_data: Dataset, tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        train(world_data, config(), tmp_path / "run", trackers={"one": Recorder("log 2", KeyboardInterrupt())})
    resumed = Recorder()
    train(world_data, config(), tmp_path / "run", resume=True, trackers={"one": resumed})
    assert resumed.calls[:2] == ["start tiny 3 id-1", "log 3"]
    new = Recorder()
    train(world_data, config(1), tmp_path / "run", overwrite=True, trackers={"one": new})
    assert new.calls[0] == "start tiny 1 None"


def test_an_interrupted_training_closes_its_trackers_as_failed(world_data: Dataset, tmp_path: Path):
    recorder = Recorder("log 1", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        train(world_data, config(), tmp_path / "run", trackers={"recorder": recorder})
    assert recorder.calls[-1] == "close True"


def test_a_tracker_that_fails_is_dropped_and_training_goes_on(
    world_data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    broken, other = Recorder("log 1", ConnectionError("no route to host")), Recorder()
    run = train(world_data, config(2), tmp_path / "run", trackers={"broken": broken, "other": other})
    assert run.is_finished
    assert broken.calls[-1] == "log 1"
    assert other.calls[-1] == "close False"
    message = "the tracker 'broken' failed and is not used any more: ConnectionError: no route to host"
    assert message in capsys.readouterr().err


def test_a_tracker_can_stop_a_training(world_data: Dataset, tmp_path: Path):
    recorder = Recorder("log 2", StopTraining())
    with pytest.raises(StopTraining):
        train(world_data, config(), tmp_path / "run", trackers={"recorder": recorder})
    assert recorder.calls[-1] == "close True"


def test_a_tracker_that_cannot_start_is_an_error_that_names_it(world_data: Dataset, tmp_path: Path):
    first, second = Recorder(), Recorder("start tiny 3 None", OSError("refused"))
    with pytest.raises(TiterError, match="the tracker 'second' could not be started: OSError: refused"):
        train(world_data, config(), tmp_path / "run", trackers={"first": first, "second": second})
    assert first.calls[-1] == "close True"


@pytest.mark.slow
# MLflow itself uses what SQLAlchemy 2.1 has deprecated.
@pytest.mark.filterwarnings("ignore:.*noload.*")
def test_mlflow_has_the_settings_and_all_rows_of_the_log(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    from mlflow.tracking import MlflowClient

    interruption = Recorder("log 2", KeyboardInterrupt())
    trackers = {"mlflow": make_tracker("mlflow"), "recorder": interruption}
    with pytest.raises(KeyboardInterrupt):
        train(world_data, config(), tmp_path / "run", trackers=trackers)
    client = MlflowClient()
    experiment = client.get_experiment_by_name("titer")
    assert experiment is not None
    (begun,) = client.search_runs([experiment.experiment_id])
    assert begun.info.status == "FAILED"

    run = train(world_data, config(), tmp_path / "run", resume=True, trackers={"mlflow": make_tracker("mlflow")})
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    assert found.info.run_name == "run"
    assert found.data.tags["model"] == "tiny"
    assert found.data.params["training.epochs"] == str(EPOCHS)
    assert found.data.params["model.dim"] == "4"
    for name in ("loss", "valid_mrr"):
        history = {point.step: point.value for point in client.get_metric_history(found.info.run_id, name)}
        assert history == {row["epoch"]: pytest.approx(row[name]) for row in run.log_rows}
    assert found.data.metrics["result.valid_mrr"] == pytest.approx(run.evaluations[-1]["metrics"]["mrr"])


@pytest.mark.slow
def test_wandb_has_the_settings_and_all_rows_of_the_log_without_a_network(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("wandb")
    for name, value in {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}.items():
        monkeypatch.setenv(name, value)
    run = train(world_data, config(), tmp_path / "run", trackers={"wandb": make_tracker("wandb")})
    (written,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    limit = time.monotonic() + 60
    while b"result/valid_mrr" not in (content := written.read_bytes()):  # a process of wandb writes the file
        assert time.monotonic() < limit
        time.sleep(0.1)
    for row in run.log_rows:
        for name in ("loss", "valid_mrr"):
            assert repr(row[name]).encode() in content
    for text in ("training.epochs", "model.dim"):
        assert text.encode() in content
    assert run.path.joinpath("tracking.json").is_file()


def test_tensorboard_has_all_rows_of_the_log(world_data: Dataset, tmp_path: Path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing import event_accumulator  # pyright: ignore[reportMissingImports]

    run = train(world_data, config(), tmp_path / "run", trackers=make_trackers())
    events = event_accumulator.EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    for name in ("loss", "valid_mrr"):
        found = {event.step: event.value for event in events.Scalars(name)}
        assert found == {row["epoch"]: pytest.approx(row[name], rel=1e-6) for row in run.log_rows}


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("mlflow", "mlflow.entities", "mlflow"),
        ("mlflow", "mlflow.store.tracking.sqlalchemy_store", "mlflow"),  # needs more than MLflow itself
        ("wandb", "wandb", "wandb"),
        ("tensorboard", "torch.utils.tensorboard.writer", "track"),
    ],
)
def test_a_tracker_without_its_library_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, package: str, extra: str
):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"pip install 'titer\[{extra}\]'"):
        make_tracker(name)


def test_without_tensorboard_its_curves_are_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", None)
    assert make_trackers() == {}


def test_an_unknown_tracker_is_an_error_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown tracker 'mlfow'; choose from .*; did you mean 'mlflow'\?"):
        make_tracker("mlfow")


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Install a package that declares a tracker of the name ``added``."""
    about = folder / "added_tracker-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: added-tracker\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[titer.trackers]\nadded = added_tracker:Added\n")
    (folder / "added_tracker.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "added_tracker", raising=False)


ADDED = """
from pathlib import Path
from titer import Tracker
class Added(Tracker):
    def start(self, training, previous):
        self.file = training.folder.with_name("followed.txt").open("w")
    def log(self, epoch, values): print(epoch, *values, file=self.file)
    def summarise(self, values): print("end", file=self.file)
    def close(self, *, failed): self.file.close()
"""


def test_an_installed_package_can_bring_a_tracker(world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    installed(monkeypatch, tmp_path, ADDED)
    assert "added" in tracker_names()
    run = train(world_data, config(2), tmp_path / "run", trackers=make_trackers(["added"]))
    lines = (tmp_path / "followed.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "end"]
    assert Run(run.path).is_finished


@pytest.mark.parametrize(
    ("code", "reason"),
    [("import nothing_of_that_name", "ModuleNotFoundError"), ("Added = dict", "is not a subclass of titer.Tracker")],
)
def test_a_package_with_a_broken_tracker_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
):
    installed(monkeypatch, tmp_path, code)
    with pytest.raises(PluginError, match=reason):
        make_tracker("added")
