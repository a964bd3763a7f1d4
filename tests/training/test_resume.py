"""An interrupted training resumes exactly."""

import json
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open

from commands import titer_process
from titer import threads
from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.evaluation.metrics import Metrics
from titer.runs import session
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from training.tiny_model import TinyModel
from warm_processes import WarmProcess

# One process trains the run that others are compared with.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("resume")]

SETTINGS = [
    "training.epochs=4",
    "training.batch_size=512",
    "training.device=cpu",
    "training.learning_rate_schedule=linear",
    "model.num_edges=10",
    "model.beam_size=10",
    "model.num_snapshots=10",
    "model.entity_dim=8",
    "model.time_dim=4",
]
CONFIG = Config.load(model="titer", overrides=SETTINGS)


def weights(path: Path) -> dict[str, torch.Tensor]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def whole(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An uninterrupted training."""
    torch.set_num_threads(1)
    return train(world_data, CONFIG, tmp_path_factory.mktemp("runs") / "whole")


def words(out: Path, *more: str) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return ["train", "small-world", "--model", "titer", "--out", str(out), *settings, *more]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_resumes_to_the_very_same_weights(whole: Run, tmp_path: Path, how: signal.Signals):
    out = tmp_path / "run"
    process = WarmProcess(*words(out), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(out.glob("checkpoint-00000[2-3]*")) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not Run(out).is_finished
    done = titer_process(*words(out, "--resume"))
    assert done.returncode == 0, done.stderr
    last = "checkpoint-000004.safetensors"
    assert same(weights(out / last), weights(whole.path / last))
    assert same(weights(out / "model.safetensors"), weights(whole.path / "model.safetensors"))
    rows = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]


def interrupted(
    world_data: Dataset, path: Path, monkeypatch: pytest.MonkeyPatch, after: int, config: Config = CONFIG
) -> Config:
    """Interrupt a training after an epoch, and return its configuration."""
    from titer.training import loop as module

    original = module._train_epoch

    def interrupt(model, stepper, epoch, config, reporter):
        if epoch > after:
            raise KeyboardInterrupt
        return original(model, stepper, epoch, config, reporter)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_train_epoch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(world_data, config, path)
    return config


def test_a_damaged_checkpoint_is_skipped_for_the_one_before(
    whole: Run, world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    config = interrupted(world_data, tmp_path / "run", monkeypatch, after=3)
    newest = tmp_path / "run" / "checkpoint-000003.safetensors"
    content = bytearray(newest.read_bytes())
    content[-100] ^= 0xFF
    newest.write_bytes(content)
    run = train(world_data, config, tmp_path / "run", resume=True)
    said = capsys.readouterr().err
    assert "checkpoint-000003.safetensors is damaged" in said
    assert "resuming after epoch 2" in said
    assert same(weights(run.path / "model.safetensors"), weights(whole.path / "model.safetensors"))


def test_a_resumed_training_computes_with_the_threads_that_it_began_with(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(threads, "_chosen", None)
    monkeypatch.setattr(session, "use_training_threads", lambda num_entities: 2)  # two cores are idle
    tiny = Config.load(model=TinyModel.name, overrides=["training.epochs=3", "training.device=cpu"])
    config = interrupted(world_data, tmp_path / "run", monkeypatch, after=2, config=tiny)
    assert torch.get_num_threads() == 2
    monkeypatch.setattr(session, "use_training_threads", lambda num_entities: 1)  # and now one
    run = train(world_data, config, tmp_path / "run", resume=True)
    found = torch.get_num_threads(), run.summary["threads"]
    torch.set_num_threads(1)
    assert found == (2, 2)


def test_resuming_with_other_settings_or_data_is_rejected(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    interrupted(world_data, tmp_path / "run", monkeypatch, after=1)
    other = Config.load(model="titer", overrides=[*SETTINGS, "training.seed=5"])
    with pytest.raises(TiterError, match="other settings"):
        train(world_data, other, tmp_path / "run", resume=True)
    data = Dataset(
        "other", world_data.vocabulary, world_data.axis, world_data.train[1:], world_data.valid, world_data.test
    )
    with pytest.raises(TiterError, match="other data"):
        train(data, CONFIG, tmp_path / "run", resume=True)


def test_resuming_a_finished_training_changes_nothing(whole: Run, world_data: Dataset):
    before = (whole.path / "model.safetensors").read_bytes()
    train(world_data, CONFIG, whole.path, resume=True)
    assert (whole.path / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("validate_every", [1, 2])
def test_training_stops_after_as_many_validations_without_improvement_as_patience_allows(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, validate_every: int
):
    scripted = iter([0.1, 0.3, 0.2, 0.3, 0.9])  # the second is the best, and an equal one is no improvement

    def validate(*_: object, **__: object) -> SimpleNamespace:
        mrr = next(scripted)
        return SimpleNamespace(metrics=lambda: Metrics(1, mrr, mrr, mrr, mrr, 1.0))

    monkeypatch.setattr("titer.training.loop.evaluate_task", validate)
    settings = ["epochs=30", "patience=2", f"validate_every={validate_every}", "device=cpu"]
    config = Config.load(model=TinyModel.name, overrides=[f"training.{setting}" for setting in settings])
    run = train(world_data, config, tmp_path / "run")
    assert [row["epoch"] for row in run.log_rows] == list(range(1, 4 * validate_every + 1))
    assert [row["valid_mrr"] for row in run.log_rows if "valid_mrr" in row] == [0.1, 0.3, 0.2, 0.3]


def test_a_run_that_stopped_early_before_its_interruption_trains_no_further(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    def interrupt(*_: object, **__: object) -> float:
        raise KeyboardInterrupt

    settings = ["epochs=30", "patience=2", "validate_every=2", "learning_rate=1e-9", "device=cpu"]
    config = Config.load(model=TinyModel.name, overrides=[f"training.{setting}" for setting in settings])
    with monkeypatch.context() as patch:
        patch.setattr("titer.runs.train.fit_temperature", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(world_data, config, tmp_path / "run")
    before = Run(tmp_path / "run").log_rows
    best = max(before, key=lambda row: row.get("valid_mrr", 0))["epoch"]
    assert len(before) == best + 4 < 30
    message = f"no improvement in 2 validations: stopped after epoch {len(before)}"
    assert message in capsys.readouterr().err
    run = train(world_data, config, tmp_path / "run", resume=True)
    assert run.is_finished
    assert run.log_rows == before
    assert message in capsys.readouterr().err
