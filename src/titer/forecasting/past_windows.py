"""How good the event forecasts of the last weeks were: past windows, checked once and kept in the run directory."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from titer.data.time_axis import TimeAxis, TimeUnit
from titer.events.index import MAX_AHEAD
from titer.files import write_json
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.track_record import CheckedForecast, past_starts
from titer.graph.sorted_edges import LAST_STEP
from titer.training.layout import EVENT_CHECKS, EVENTS

WINDOWS = {TimeUnit.HOUR: (1, 6, 24, 30), TimeUnit.DAY: (1, 7, 14, 30), TimeUnit.YEAR: (1, 2, 5, 10)}
"""Useful lengths of windows by time unit, in time steps."""
OTHER_WINDOWS = (1, 4, 12, 30)
MAX_PAST_WINDOWS, MIN_PAST_WINDOWS = 8, 2


def useful_windows(axis: TimeAxis) -> list[int]:
    """Return useful lengths of windows; the second one is the usual one."""
    return [steps for steps in WINDOWS.get(axis.unit, OTHER_WINDOWS) if steps <= MAX_AHEAD]


@dataclass(frozen=True)
class _Key:
    """What a checked window depends on: the event model, the window, and the facts up to its end."""

    model: str
    start: str
    steps: int
    facts: int


class PastWindows:
    """The latest past windows of a forecaster."""

    def __init__(self, forecaster: Forecaster):
        self.forecaster = forecaster
        self._kept: dict[_Key, CheckedForecast] | None = None
        self._checksum = ""

    @property
    def steps(self) -> int:
        """The length of the windows: the usual one, or a single step if too few of that length are over."""
        usual = useful_windows(self.forecaster.axis)[1]
        return usual if len(self._starts(usual)) >= MIN_PAST_WINDOWS else 1

    @property
    def starts(self) -> list[str]:
        """The first steps of the windows, latest first; empty if no fact is later than the validation split."""
        return [self.forecaster.axis.label(start) for start in self._starts(self.steps)]

    def _starts(self, steps: int) -> list[int]:
        return past_starts(self.forecaster.dataset, self.forecaster.last_time, steps, MAX_PAST_WINDOWS)

    def known(self) -> list[CheckedForecast]:
        """Return the windows that are checked already, latest first."""
        kept, keys = self._load(), [self._key(start) for start in self.starts]
        return [kept[key] for key in keys if key in kept]

    def check(self, start: str) -> CheckedForecast:
        """Return one window, and keep it in the run directory.

        Args:
            start: Its first step, one of ``starts``.
        """
        kept = self._load()
        if (found := kept.get(self._key(start))) is not None:
            return found
        found = self.forecaster.check(start, self.steps)
        wanted = {self._key(one) for one in self.starts}
        kept[self._key(start)] = found  # the event model exists by now, if it was trained for this window
        self._kept = {key: one for key, one in kept.items() if key in wanted}
        if self.forecaster.run is not None and self.forecaster.run.is_replaced:
            return found  # the folder belongs to another model now
        if (path := self._path) is not None:
            rows = [{"key": vars(key), "forecast": one.to_dict()} for key, one in self._kept.items()]
            # A run that cannot be written to, such as on a read-only disk, is checked again next time.
            with suppress(OSError):
                write_json(path, {"windows": rows})
        return found

    @property
    def _path(self) -> Path | None:
        return None if self.forecaster.run is None else self.forecaster.run.path / EVENT_CHECKS

    def _load(self) -> dict[_Key, CheckedForecast]:
        if self._kept is None:
            self._kept = {}
            # What cannot be read is computed again.
            with suppress(OSError, ValueError, KeyError, TypeError):
                text = self._path.read_text(encoding="utf-8") if self._path else '{"windows": []}'
                rows: list[dict[str, Any]] = json.loads(text)["windows"]
                self._kept = {_Key(**row["key"]): CheckedForecast.from_dict(row["forecast"]) for row in rows}
        return self._kept

    def _key(self, start: str) -> _Key:
        history, axis = self.forecaster.history, self.forecaster.axis
        last = axis.step(start) + self.steps - 1 - history.first_time
        facts = int(torch.count_nonzero((history.key[:-1] & LAST_STEP) <= last)) // 2
        return _Key(self._model, start, self.steps, facts)

    @property
    def _model(self) -> str:
        """A checksum of the event model; empty if it is not stored."""
        run = self.forecaster.run
        if run is not None and not run.is_replaced:
            with suppress(OSError):
                self._checksum = hashlib.sha256((run.path / EVENTS).read_bytes()).hexdigest()
        return self._checksum
