"""The mapping between integer time steps and dates."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.data.partial_date import PartialDate
from titer.data.time_unit import TimeUnit
from titer.data.time_words import date_words, duration_words, in_sentence, quarter_label
from titer.errors import DataError

__all__ = ["MAX_STEPS", "TimeAxis", "TimeUnit"]

MAX_STEPS = 1 << 32
"""The largest number of time steps that a history can span."""


@dataclass(frozen=True)
class TimeAxis:
    """The mapping between integer time steps and dates.

    Example:
        >>> axis = TimeAxis(TimeUnit.DAY, "2018-10-01")
        >>> axis.step("2018-10-04"), axis.label(3), axis.words(3)
        (3, '2018-10-04', '4 Oct 2018')

    Args:
        unit: The length of one time step.
        origin: The date of step 0, as an ISO date; for ``TimeUnit.INTEGER``, a number.
        stride: For ``TimeUnit.INTEGER`` only: the difference of two consecutive steps. With a stride of 24, the
            numbers 0, 24 and 48 are the steps 0, 1 and 2.

    Raises:
        DataError: If the origin is not a date (or number), or the stride is impossible.
    """

    unit: TimeUnit = TimeUnit.INTEGER
    origin: str | int = 0
    stride: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", TimeUnit(self.unit))
        if self.unit is TimeUnit.INTEGER:
            if not isinstance(self.origin, int) or self.stride < 1:
                raise DataError("a time axis of integers needs an integer as origin and a stride of at least 1")
            return
        if self.stride != 1:
            raise DataError(f"a time axis with the unit {self.unit} has a stride of 1, not {self.stride}")
        origin = PartialDate.parse(str(self.origin))
        if origin is None:
            raise DataError(f"the origin of a time axis must be a known date, not {self.origin!r}")
        start = origin.first.astype(f"datetime64[{self.unit.code}]")
        if self.unit is TimeUnit.QUARTER:
            start -= np.timedelta64(int(start.astype(np.int64)) % 3, "M")
        object.__setattr__(self, "origin", str(start))

    @classmethod
    def starting_at(cls, unit: TimeUnit, first: np.datetime64) -> "TimeAxis":
        """Return the axis whose step 0 contains a date; weeks begin on Monday.

        Args:
            unit: The length of one time step.
            first: The date.
        """
        start = first.astype(f"datetime64[{unit.code}]")
        if unit is TimeUnit.WEEK:
            start -= np.timedelta64(start.astype(object).weekday(), "D")
        return cls(unit, str(start))

    @classmethod
    def of_integers(cls, values: NDArray[np.int64], *, spread: bool = True) -> "TimeAxis":
        """Return the axis of plain numbers, starting at the smallest one.

        Args:
            values: The numbers.
            spread: Use the largest stride at which every number is on a step; otherwise the stride is 1.
        """
        distinct = np.unique(values)
        stride = int(np.gcd.reduce(np.diff(distinct))) if spread and len(distinct) > 1 else 1
        return cls(TimeUnit.INTEGER, int(distinct[0]), stride)

    def steps_of_hours(self, hours: Any) -> Any:
        """Return the steps that contain the given hours.

        Args:
            hours: ``datetime64[h]`` values, an array or one.
        """
        elapsed = hours.astype(f"datetime64[{self.unit.code}]") - np.datetime64(str(self.origin))
        steps = elapsed.astype(np.int64)
        return steps // self.unit.length

    def steps_of_integers(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the steps of plain numbers.

        Args:
            values: The numbers.

        Raises:
            DataError: If a number is between two steps.
        """
        offset = values - int(self.origin)
        if np.any(offset % self.stride):
            raise DataError(f"times must be {self.origin} plus a multiple of {self.stride}")
        return offset // self.stride

    def step(self, when: str | int | date | datetime) -> int:
        """Return the step that contains a date.

        Args:
            when: A date, as text or as an object; on an axis of integers, a number.

        Returns:
            The step. It is negative before the origin.

        Raises:
            DataError: If this is not a date, or one that spans several steps.
        """
        if self.unit is TimeUnit.INTEGER:
            try:
                return int(self.steps_of_integers(np.array(int(str(when)), dtype=np.int64)))
            except (ValueError, OverflowError):
                raise DataError(f"{when!r} is not a 64-bit integer, but this dataset counts time in integers") from None
        text = when.isoformat() if isinstance(when, date) else str(when).strip()
        parsed = PartialDate.parse(text)
        if parsed is None:
            raise DataError(f"{text!r} is not a known date")
        parsed.check_precision(self.unit, text)
        return int(self.steps_of_hours(parsed.first))

    def _date(self, step: int) -> np.datetime64:
        length = np.timedelta64(self.unit.length, self.unit.code)
        return np.datetime64(str(self.origin)) + step * length

    def label(self, step: int) -> str:
        """Return a step as a sortable date, such as "2018-10-04", or as a number.

        Args:
            step: The time step.
        """
        if self.unit is TimeUnit.INTEGER:
            return str(int(self.origin) + step * self.stride)
        if self.unit is TimeUnit.QUARTER:
            return quarter_label(self._date(step))
        text = str(self._date(step))
        return f"{text.replace('T', ' ')}:00" if self.unit is TimeUnit.HOUR else text

    def words(self, step: int) -> str:
        """Return a step in words, such as "4 Oct 2018".

        Args:
            step: The time step.
        """
        words = None if self.unit is TimeUnit.INTEGER else date_words(self._date(step), self.unit)
        return self.label(step) if words is None else words

    def when(self, step: int) -> str:
        """Return a step with its preposition, such as "on 4 Oct 2018", "in 2018" or "at 17".

        Args:
            step: The time step.
        """
        return in_sentence(self.words(step), self.unit)

    def duration(self, steps: int) -> str:
        """Return a number of steps in words, such as "3 days".

        Args:
            steps: The number of time steps.
        """
        return duration_words(steps, self.unit)

    def to_dict(self) -> dict[str, str | int]:
        """Return the fields as plain values, for TOML and JSON; ``TimeAxis(**values)`` restores the axis."""
        return {"unit": self.unit.value, "origin": self.origin, "stride": self.stride}
