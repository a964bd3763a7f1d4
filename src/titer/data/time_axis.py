"""Time as integer steps that know their dates."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titer.errors import DataError


class TimeUnit(StrEnum):
    """How long one step lasts. From fine to coarse, the plain number last."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    INTEGER = "integer"

    @property
    def code(self) -> str:
        """What numpy calls the unit of dates that are this precise."""
        return {"hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}[self.value]


MAX_STEPS = 1 << 32
"""How many steps a history can span."""

FINE_TO_COARSE = (TimeUnit.HOUR, TimeUnit.DAY, TimeUnit.WEEK, TimeUnit.MONTH, TimeUnit.YEAR)

_ISO = re.compile(
    r"(?P<year>\d{1,4}|#{2,4})"
    r"(?:[-/](?P<month>\d{1,2}|##)"
    r"(?:[-/](?P<day>\d{1,2}|##)"
    r"(?:[T ](?P<hour>\d{1,2})(?::?(?P<minute>[0-5]\d)(?::?(?:[0-5]\d|60)(?:[.,]\d+)?)?)?"
    r"\s*(?P<zone>Z|[+-]\d{2}(?::?[0-5]\d)?)?)?)?)?"
)
_WEEK = re.compile(r"(?P<year>\d{4})-?W(?P<week>\d{2})")


@dataclass(frozen=True)
class Moment:
    """A date as precisely as it was written: 1926-##-## is the whole of 1926."""

    first: np.datetime64  # its first hour
    last: np.datetime64  # its last hour
    unit: TimeUnit

    @classmethod
    def of(cls, value: np.datetime64, unit: TimeUnit) -> "Moment":
        """The whole period of ``unit`` that begins at ``value``."""
        length = np.timedelta64(7 if unit is TimeUnit.WEEK else 1, unit.code)
        start = value.astype(f"datetime64[{unit.code}]")
        hour = np.timedelta64(1, "h")
        return cls(start.astype("datetime64[h]"), (start + length).astype("datetime64[h]") - hour, unit)

    @classmethod
    def parse(cls, text: str, date_format: str | None = None) -> "Moment | None":
        """Read a date; ``None`` if it is written as unknown (``####-##-##``).

        Understood are ISO dates and times of any precision, ISO weeks (2018-W05), ``##`` for an unknown
        month or day, or whatever ``date_format`` says in the language of ``strptime``.
        """
        if date_format is not None:
            return cls._from_format(text, date_format)
        if week := _WEEK.fullmatch(text):
            return cls._from_week(int(week["year"]), int(week["week"]), text)
        match = _ISO.fullmatch(text)
        if match is None:
            raise DataError(f"{text!r} is not a date like 2018-10-04")
        if "#" in match["year"]:
            return None
        return cls._from_parts(match, text)

    @classmethod
    def _from_parts(cls, match: re.Match[str], text: str) -> "Moment":
        year, month, day, hour, zone = (match[k] for k in ("year", "month", "day", "hour", "zone"))
        written, unit = f"{int(year):04d}", TimeUnit.YEAR
        if month and "#" not in month:
            written, unit = f"{written}-{int(month):02d}", TimeUnit.MONTH
            if day and "#" not in day:
                written, unit = f"{written}-{int(day):02d}", TimeUnit.DAY
                if hour:
                    written, unit = f"{written}T{int(hour):02d}", TimeUnit.HOUR
        try:
            if int(year) == 0:
                raise ValueError("the calendar has no year 0")
            value = np.datetime64(written)
        except ValueError:
            raise DataError(f"{text!r} is not a date of the calendar") from None
        if unit is TimeUnit.HOUR and zone and zone != "Z":
            # The minutes of the time and of its zone decide the hour together.
            ahead = int(f"{zone[0]}1") * (60 * int(zone[1:3]) + int(zone[3:].lstrip(":") or 0))
            value += np.timedelta64((int(match["minute"] or 0) - ahead) // 60, "h")
        return cls.of(value, unit)

    @classmethod
    def _from_week(cls, year: int, week: int, text: str) -> "Moment":
        try:
            return cls.of(np.datetime64(date.fromisocalendar(year, week, 1)), TimeUnit.WEEK)
        except ValueError:
            raise DataError(f"{text!r} is not a week of the calendar") from None

    @classmethod
    def _from_format(cls, text: str, date_format: str) -> "Moment":
        try:
            value = datetime.strptime(text, date_format)
            if value.tzinfo is not None:
                value = value.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise DataError(f"{text!r} does not look like {date_format!r}") from None
        if any(f"%{letter}" in date_format for letter in "HIXc"):
            unit = TimeUnit.HOUR
        elif any(f"%{letter}" in date_format for letter in "djxUWu"):
            unit = TimeUnit.DAY
        elif any(f"%{letter}" in date_format for letter in "mbB"):
            unit = TimeUnit.MONTH
        else:
            unit = TimeUnit.YEAR
        return cls.of(np.datetime64(value), unit)


@dataclass(frozen=True)
class TimeAxis:
    """Turns steps into dates and back.

    Step 0 is ``origin``: an ISO date as precise as the unit, or a number for ``TimeUnit.INTEGER``. One step
    is one ``unit``; plain integers may be ``stride`` apart, so that 0, 24, 48 become the steps 0, 1, 2.
    """

    unit: TimeUnit = TimeUnit.INTEGER
    origin: str | int = 0
    stride: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", TimeUnit(self.unit))
        if self.unit is TimeUnit.INTEGER:
            if not isinstance(self.origin, int) or self.stride < 1:
                raise DataError("an axis of plain integers needs a whole origin and a stride of at least 1")
            return
        if self.stride != 1:
            raise DataError(f"an axis by the {self.unit} has a stride of 1")
        moment = Moment.parse(str(self.origin))
        if moment is None:
            raise DataError("the origin of a time axis must be a known date")
        object.__setattr__(self, "origin", str(moment.first.astype(f"datetime64[{self.unit.code}]")))

    @classmethod
    def starting_at(cls, unit: TimeUnit, first: np.datetime64) -> "TimeAxis":
        """The axis whose step 0 contains ``first``; weeks begin on Monday."""
        start = first.astype(f"datetime64[{unit.code}]")
        if unit is TimeUnit.WEEK:
            start -= np.timedelta64(start.astype(object).weekday(), "D")
        return cls(unit, str(start))

    @classmethod
    def of_integers(cls, values: NDArray[np.int64], *, spread: bool = True) -> "TimeAxis":
        """The axis on which plain numbers lie: from the smallest on, as far apart as all of them allow."""
        distinct = np.unique(values)
        stride = int(np.gcd.reduce(np.diff(distinct))) if spread and len(distinct) > 1 else 1
        return cls(TimeUnit.INTEGER, int(distinct[0]), stride)

    def steps_of_hours(self, hours: Any) -> Any:
        """Steps that contain the given ``datetime64[h]`` values, an array or one."""
        elapsed = hours.astype(f"datetime64[{self.unit.code}]") - np.datetime64(str(self.origin))
        steps = elapsed.astype(np.int64)
        return steps // 7 if self.unit is TimeUnit.WEEK else steps

    def steps_of_integers(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Steps of plain numbers, each of which must lie on the axis."""
        offset = values - int(self.origin)
        if np.any(offset % self.stride):
            raise DataError(f"times must be {self.origin} plus a multiple of {self.stride}")
        return offset // self.stride

    def step(self, when: str | int | date | datetime) -> int:
        """The step of a date (or, on an axis of plain integers, of a number)."""
        if self.unit is TimeUnit.INTEGER:
            try:
                return int(self.steps_of_integers(np.array(int(str(when)), dtype=np.int64)))
            except (ValueError, OverflowError):
                raise DataError(
                    f"{when!r} is not a whole number of a sensible size, and this data counts time in numbers"
                ) from None
        text = when.isoformat() if isinstance(when, date) else str(when).strip()
        moment = Moment.parse(text)
        if moment is None:
            raise DataError(f"{text!r} is not a known date")
        self.check_precision(moment, text)
        return int(self.steps_of_hours(moment.first))

    def check_precision(self, moment: Moment, text: str) -> None:
        """Refuse a date that spans several steps of this axis."""
        if FINE_TO_COARSE.index(moment.unit) > FINE_TO_COARSE.index(self.unit):
            raise DataError(f"{text!r} names only a {moment.unit}, and time is counted by the {self.unit} here")

    def _date(self, step: int) -> np.datetime64:
        length = np.timedelta64(7 if self.unit is TimeUnit.WEEK else 1, self.unit.code)
        return np.datetime64(str(self.origin)) + step * length

    def label(self, step: int) -> str:
        """A step as a sortable date: 2018-10-04, or a plain number."""
        if self.unit is TimeUnit.INTEGER:
            return str(int(self.origin) + step * self.stride)
        text = str(self._date(step))
        return f"{text.replace('T', ' ')}:00" if self.unit is TimeUnit.HOUR else text

    def words(self, step: int) -> str:
        """A step as people write it: 4 Oct 2018."""
        beyond_calendar = self.unit is not TimeUnit.INTEGER and isinstance(self._date(step).astype(object), int)
        match self.unit:
            case TimeUnit.INTEGER | TimeUnit.YEAR:
                return self.label(step)
            case _ if beyond_calendar:
                return self.label(step)
            case TimeUnit.MONTH:
                return f"{self._date(step).astype(object):%b %Y}"
            case TimeUnit.HOUR:
                moment = self._date(step).astype(object)
                return f"{moment.day} {moment:%b %Y, %H:%M}"
            case _:
                day = self._date(step).astype(object)
                text = f"{day.day} {day:%b %Y}"
                return f"week of {text}" if self.unit is TimeUnit.WEEK else text

    def when(self, step: int) -> str:
        """A step as it stands in a sentence: on 4 Oct 2018, in 2018, at 17."""
        words = self.words(step)
        match self.unit:
            case TimeUnit.INTEGER:
                return f"at {words}"
            case TimeUnit.YEAR | TimeUnit.MONTH:
                return f"in {words}"
            case TimeUnit.WEEK:
                return f"in the {words}"
            case _:
                return f"on {words}"

    def duration(self, steps: int) -> str:
        """A number of steps in words: 3 days."""
        name = "step" if self.unit is TimeUnit.INTEGER else self.unit.value
        return f"{steps} {name}" if abs(steps) == 1 else f"{steps} {name}s"

    def to_dict(self) -> dict[str, str | int]:
        """For TOML and JSON."""
        return {"unit": self.unit.value, "origin": self.origin, "stride": self.stride}
