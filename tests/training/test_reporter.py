"""The status line of a training."""

from pathlib import Path

import pytest

from titer.training import reporter as module
from titer.training.checkpoint import Progress
from titer.training.config import TrainingConfig
from titer.training.reporter import Reporter


def test_the_time_left_is_estimated_within_the_first_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    now = iter([100.0, 100.5, 110.0, 110.0, 110.2, 120.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(now))
    with Reporter(tmp_path, TrainingConfig(epochs=4), Progress(), []) as reporter:
        reporter.is_watched = True
        reporter.step(1, 0.01)  # too soon to be drawn
        reporter.step(1, 0.5)  # 10 s for an eighth of the training
        reporter.step(1, 0.51)  # too soon after the last one
        reporter.is_watched = False
        reporter.step(1, 0.9)
    printed = capsys.readouterr().err
    assert printed.count("left") == 1
    assert "epoch 1 of 4, 50% done, about 70 s left" in printed


def test_the_estimate_counts_the_epochs_since_a_resumed_training_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = iter([0.0, 30.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(now))
    reporter = Reporter(tmp_path, TrainingConfig(epochs=10), Progress(epoch=4), [])
    assert reporter._seconds_left(5.5) == pytest.approx(30 / 1.5 * 4.5)
