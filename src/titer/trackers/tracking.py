"""The trackers of one training together."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from titer.files import write_json
from titer.trackers.base import TrackedTraining, Tracker

STATE = "tracking.json"
"""The file in a run directory with the identifiers under which trackers continue."""


class Tracking:
    """Passes the course of a training to its trackers, and closes them at the end, also after an error.

    Args:
        trackers: The trackers by name.
        training: The training to follow.
    """

    def __init__(self, trackers: Mapping[str, Tracker], training: TrackedTraining):
        self._trackers, self._training = trackers, training
        self._started: list[Tracker] = []

    def __enter__(self) -> "Tracking":
        path = self._training.folder / STATE
        previous = _read(path)
        try:
            for name, tracker in self._trackers.items():
                if (identifier := tracker.start(self._training, previous.get(name))) is not None:
                    previous[name] = identifier
                self._started.append(tracker)
        except BaseException:
            self._close(failed=True)
            raise
        if previous:
            write_json(path, previous)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._close(failed=kind is not None)

    def log(self, row: Mapping[str, Any]) -> None:
        """Record a row of the training log, of which trackers receive the numbers that are not whole.

        Args:
            row: The row, with its ``epoch``.
        """
        values = {name: value for name, value in row.items() if isinstance(value, float)}
        for tracker in self._started:
            tracker.log(row["epoch"], values)

    def summarise(self, values: Mapping[str, float]) -> None:
        """Record the result of the finished training.

        Args:
            values: Values by name.
        """
        for tracker in self._started:
            tracker.summarise(values)

    def _close(self, *, failed: bool) -> None:
        for tracker in self._started:
            tracker.close(failed=failed)


def _read(path: Path) -> dict[str, str]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
