"""Progress reports of a training: a log file, trackers, and lines on standard error."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from titer.files import write_text
from titer.parallel.processes import rank
from titer.progress import FIRST_LINE, NEXT_LINES, duration
from titer.trackers.tracking import Tracking
from titer.training.checkpoint import Progress
from titer.training.config import TrainingConfig
from titer.training.layout import LOG

INTERVAL = 1.0
"""Seconds between two updates of the status line within an epoch."""


class Reporter:
    """Reports every epoch to the log file, to trackers and to standard error: on a terminal, in one line.

    Only the first process reports.
    """

    def __init__(
        self,
        folder: Path,
        config: TrainingConfig,
        progress: Progress,
        warnings: list[str],
        tracking: Tracking | None = None,
    ):
        self.is_active = rank() == 0
        self.log, self.config, self.tracking = folder / LOG, config, tracking
        self.started, self.first_epoch = time.perf_counter(), progress.epoch
        self.is_watched = self.is_active and sys.stderr.isatty()
        self.next_report = self.started + (INTERVAL if self.is_watched else FIRST_LINE)
        for warning in warnings:
            self.say(warning)
        if progress.epoch:
            self.say(f"resuming after epoch {progress.epoch}")
        # The log may have rows of epochs after the checkpoint, which are trained again.
        if self.is_active:
            write_text(self.log, "".join(json.dumps(row) + "\n" for row in progress.log))

    def __enter__(self) -> "Reporter":
        return self

    def __exit__(self, *exception: object) -> None:
        if self.is_watched:
            sys.stderr.write("\n")

    def say(self, text: str) -> None:
        """Print a message on standard error."""
        if self.is_active:
            print(text, file=sys.stderr, flush=True)

    def step(self, epoch: int, share: float) -> None:
        """Report a part of an epoch now and then, so that the time left is known from the first seconds."""
        now = time.perf_counter()
        if not self.is_active or now < self.next_report:
            return
        self.next_report = now + (INTERVAL if self.is_watched else NEXT_LINES)
        left = self._seconds_left(epoch - 1 + share)
        line = f"epoch {epoch} of {self.config.epochs}, {share:.0%} done, about {duration(left)} left"
        if self.is_watched:
            self._draw(line)
        else:
            self.say(line)

    def epoch(self, row: dict[str, Any], progress: Progress) -> None:
        """Report one finished epoch."""
        if not self.is_active:
            return
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if self.tracking is not None:
            self.tracking.log(row)
        if self.is_watched:
            self._draw(self._line(row, progress))
        else:
            self.say(self._line(row, progress))

    def _draw(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def _seconds_left(self, done: float) -> float:
        """Return the time of the remaining epochs if they take as long as the others; ``done`` of all are done."""
        taken = time.perf_counter() - self.started
        return taken / max(done - self.first_epoch, 1e-6) * (self.config.epochs - done)

    def _line(self, row: dict[str, Any], progress: Progress) -> str:
        left = self._seconds_left(row["epoch"])
        parts = [f"epoch {row['epoch']} of {self.config.epochs}", f"{row['queries_per_second']:,} queries/s"]
        parts += [f"{name} {row[name]:.4f}" for name in ("reward", "loss") if name in row]
        if "valid_mrr" in row:
            parts.append(f"validation MRR {100 * row['valid_mrr']:.2f}")
        if progress.best_epoch and progress.best_epoch != row["epoch"]:
            parts.append(f"best {100 * progress.best_mrr:.2f} (epoch {progress.best_epoch})")
        return ", ".join([*parts, f"{duration(left)} left"])
