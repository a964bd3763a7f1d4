"""The status line of a training."""

from pathlib import Path

import pytest

from titer.training import reporter as module
from titer.training.checkpoint import Progress
from titer.training.config import TrainingConfig
from titer.training.reporter import Reporter


@pytest.mark.parametrize(("is_watched", "times"), [(True, [0.5, 10.0, 10.2]), (False, [9.0, 10.0, 39.0])])
def test_the_time_left_is_estimated_within_the_first_epoch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_watched: bool,
    times: list[float],
):
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: is_watched)
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])
    with Reporter(tmp_path, TrainingConfig(epochs=4), Progress(), []) as reporter:
        # Too soon; 10 s for an eighth of the training; too soon after the last report.
        for clock[0], share in zip(times, (0.01, 0.5, 0.9), strict=True):
            reporter.step(1, share)
    printed = capsys.readouterr().err
    assert printed.count("left") == 1
    assert "epoch 1 of 4, 50% done, about 70 s left" in printed


def test_the_estimate_counts_the_epochs_since_a_resumed_training_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = iter([0.0, 30.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(now))
    reporter = Reporter(tmp_path, TrainingConfig(epochs=10), Progress(epoch=4), [])
    assert reporter._seconds_left(5.5) == pytest.approx(30 / 1.5 * 4.5)
