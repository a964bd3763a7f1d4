"""Training that is broken off goes on as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from training.tiny_model import TinyModel

SETTINGS = [
    "training.epochs=6",
    "training.batch_size=256",
    "training.device=cpu",
    "training.learning_rate_schedule=linear",
    "model.num_edges=10",
    "model.beam_size=10",
    "model.num_snapshots=10",
]


def weights(path: Path) -> dict[str, torch.Tensor]:
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def whole(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A training without a break."""
    torch.set_num_threads(1)
    return train(world_data, Config.load(model="titer", overrides=SETTINGS), tmp_path_factory.mktemp("runs") / "whole")


def command(out: Path, *more: str) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return [
        sys.executable,
        "-m",
        "titer",
        "train",
        "small-world",
        "--model",
        "titer",
        "--out",
        str(out),
        *settings,
        *more,
    ]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_resumes_to_the_very_same_weights(whole: Run, tmp_path: Path, how: signal.Signals):
    out = tmp_path / "run"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command(out), env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not list(out.glob("checkpoint-00000[2-5]*")) and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not Run(out).is_finished
    subprocess.run(command(out, "--resume"), env=environment, check=True, capture_output=True, timeout=240)
    last = "checkpoint-000006.safetensors"
    assert same(weights(out / last), weights(whole.path / last))
    assert same(weights(out / "model.safetensors"), weights(whole.path / "model.safetensors"))
    rows = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5, 6]


def interrupted(world_data: Dataset, path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> Config:
    """A training that ends in the middle of an epoch."""
    from titer.training import loop as module

    original = module._train_epoch

    def break_off(model, stepper, epoch, config):
        if epoch > after:
            raise KeyboardInterrupt
        return original(model, stepper, epoch, config)

    config = Config.load(model="titer", overrides=SETTINGS)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_train_epoch", break_off)
        with pytest.raises(KeyboardInterrupt):
            train(world_data, config, path)
    return config


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(
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
    assert "going on after epoch 2" in said
    assert same(weights(run.path / "model.safetensors"), weights(whole.path / "model.safetensors"))


def test_resuming_with_other_settings_or_data_is_refused(
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
        train(data, Config.load(model="titer", overrides=SETTINGS), tmp_path / "run", resume=True)


def test_resuming_a_finished_training_changes_nothing(whole: Run, world_data: Dataset):
    before = (whole.path / "model.safetensors").read_bytes()
    train(world_data, Config.load(model="titer", overrides=SETTINGS), whole.path, resume=True)
    assert (whole.path / "model.safetensors").read_bytes() == before


def test_training_stops_early_when_nothing_gets_better(world_data: Dataset, tmp_path: Path):
    settings = [*SETTINGS, "training.epochs=30", "training.patience=2", "training.learning_rate=1e-9"]
    run = train(world_data, Config.load(model="titer", overrides=settings), tmp_path / "run")
    rows = (run.path / "training.jsonl").read_text().splitlines()
    assert len(rows) < 30


def test_a_run_that_had_stopped_early_when_it_was_broken_off_trains_no_further(
    world_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    def break_off(*_: object, **__: object) -> float:
        raise KeyboardInterrupt

    settings = ["epochs=30", "patience=2", "validate_every=2", "learning_rate=1e-9", "device=cpu"]
    config = Config.load(model=TinyModel.name, overrides=[f"training.{setting}" for setting in settings])
    with monkeypatch.context() as patch:
        patch.setattr("titer.runs.train.fit_temperature", break_off)
        with pytest.raises(KeyboardInterrupt):
            train(world_data, config, tmp_path / "run")
    before = Run(tmp_path / "run").log_rows
    assert len(before) < 30
    said = f"no new best in 2 measurements: stopped after epoch {len(before)}"
    assert said in capsys.readouterr().err
    run = train(world_data, config, tmp_path / "run", resume=True)
    assert run.is_finished
    assert run.log_rows == before
    assert said in capsys.readouterr().err
