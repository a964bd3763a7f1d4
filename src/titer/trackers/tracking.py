"""The trackers of one training together."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from titer.errors import TiterError
from titer.files import write_json
from titer.trackers.base import StopTraining, TrackedTraining, Tracker

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
        self._started: dict[str, Tracker] = {}

    def __enter__(self) -> "Tracking":
        path = self._training.folder / STATE
        previous = _read(path)
        for name, tracker in self._trackers.items():
            try:
                identifier = tracker.start(self._training, previous.get(name))
            except Exception as error:
                self._close(failed=True)
                raise TiterError(f"the tracker {name!r} could not be started: {_reason(error)}") from error
            self._started[name] = tracker
            if identifier is not None:
                previous[name] = identifier
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
        self._for_each(lambda tracker: tracker.log(row["epoch"], values))

    def summarise(self, values: Mapping[str, float]) -> None:
        """Record the result of the finished training.

        Args:
            values: Values by name.
        """
        self._for_each(lambda tracker: tracker.summarise(values))

    def _close(self, *, failed: bool) -> None:
        self._for_each(lambda tracker: tracker.close(failed=failed))

    def _for_each(self, call: Callable[[Tracker], None]) -> None:
        """Call all trackers; one that fails is dropped, since a lost connection must not end a long training."""
        for name, tracker in list(self._started.items()):
            try:
                call(tracker)
            except StopTraining:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a library raises
                print(f"the tracker {name!r} failed and is not used any more: {_reason(error)}", file=sys.stderr)
                del self._started[name]


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def _read(path: Path) -> dict[str, str]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
