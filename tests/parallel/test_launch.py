"""Commands that run as several processes: real processes, killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from commands import titer_process
from titer.runs.run import Run
from warm_processes import WarmProcess

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("parallel"), pytest.mark.timeout(600)]

NUM_EPOCHS = 6
SETTINGS = {"epochs": NUM_EPOCHS, "batch_size": 500, "device": "cpu", "patience": 0, "learning_rate": 0.02}
MAX_SECONDS = 240


def words(out: Path, *more: str, **settings: object) -> list[str]:
    changes = [f"training.{name}={value}" for name, value in {**SETTINGS, **settings}.items()]
    fixed = [word for change in (*changes, "model.dim=8", "model.dropout=0.3") for word in ("--set", change)]
    return ["train", "small-world", "--model", "ttranse", "--out", str(out), *fixed, *more]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An uninterrupted training by two processes."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    done = titer_process(*words(out, "--workers", "2"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained on small-world") == 1
    return Run(out)


def same_weights(one: Path, other: Path) -> bool:
    a, b = load_file(one), load_file(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def workers_of(process: WarmProcess) -> dict[int, int]:
    """Return the process ids of the workers of a command by their rank."""
    found = {}
    for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        found |= {int(v.removeprefix(b"RANK=")): int(pid) for v in variables if v.startswith(b"RANK=")}
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_after_one_process_is_killed_all_stop_and_the_training_resumes_exactly(whole: Run, tmp_path: Path):
    out = tmp_path / "run"
    for killed, epochs in ((0, "23"), (1, "45")):
        resumed = ["--resume"] if killed else []
        process = WarmProcess(*words(out, "--workers", "2", *resumed), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        deadline = time.monotonic() + MAX_SECONDS
        while not list(out.glob(f"checkpoint-00000[{epochs}]*")) and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        pids = workers_of(process)
        os.kill(pids[killed], signal.SIGKILL)
        _, message = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGKILL
        assert f"error: process {killed} of 2 was killed (SIGKILL), so all have stopped" in message
        assert "--resume" in message
        assert "Traceback" not in message
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids.values())
        assert not Run(out).is_finished
    done = titer_process(*words(out, "--workers", "2", "--resume"))
    assert done.returncode == 0, done.stderr
    assert "resuming after epoch" in done.stderr
    assert same_weights(out / "model.safetensors", whole.path / "model.safetensors")
    assert [row["epoch"] for row in Run(out).log_rows] == list(range(1, NUM_EPOCHS + 1))


def test_torchrun_starts_the_same_training(whole: Run, tmp_path: Path):
    launcher = "from torch.distributed.run import main; main()"
    options = ["--standalone", "--nproc-per-node", "2", "-m", "titer"]
    done = titer_process("-c", launcher, *options, *words(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained on small-world") == 1
    assert same_weights(tmp_path / "run" / "model.safetensors", whole.path / "model.safetensors")


def test_the_summary_of_a_run_has_the_number_of_processes_and_the_log_one_row_per_epoch(whole: Run):
    assert whole.summary["processes"] == 2
    assert [row["epoch"] for row in whole.log_rows] == list(range(1, NUM_EPOCHS + 1))
    assert len(whole.evaluations) == 1


def test_all_processes_stop_early_together(tmp_path: Path):
    # The learning rate is so small that no validation improves on the first.
    done = titer_process(*words(tmp_path / "run", "--workers", "2", patience=1, learning_rate=1e-12))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no improvement in 1 validations: stopped after epoch 2") == 1
    assert len(Run(tmp_path / "run").log_rows) == 2


def test_a_wrong_setting_is_reported_and_leaves_no_run(tmp_path: Path):
    done = titer_process(*words(tmp_path / "run", "--workers", "2", epochs="many"))
    assert done.returncode == 1
    assert "error: training.epochs must be a whole number" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_two_processes_evaluate_a_run_as_one_does(whole: Run):
    alone, together = (
        json.loads(titer_process("evaluate", whole.path, "--split", "valid", "--json", *more).stdout)
        for more in ((), ("--workers", "2"))
    )
    for found in (alone, together):
        del found["seconds"]
    assert together == alone
