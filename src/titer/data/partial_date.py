"""Dates of any precision, parsed from text."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np

from titer.data.time_unit import TimeUnit
from titer.errors import DataError

_ISO = re.compile(
    r"(?P<year>\d{1,4}|#{2,4})"
    r"(?:[-/](?P<month>\d{1,2}|##)"
    r"(?:[-/](?P<day>\d{1,2}|##)"
    r"(?:[T ](?P<hour>\d{1,2})(?::?(?P<minute>[0-5]\d)(?::?(?:[0-5]\d|60)(?:[.,]\d+)?)?)?"
    r"\s*(?P<zone>Z|[+-]\d{2}(?::?[0-5]\d)?)?)?)?)?"
)
_WEEK = re.compile(r"(?P<year>\d{4})-?W(?P<week>\d{2})")


@dataclass(frozen=True)
class PartialDate:
    """A date with the precision of its text: ``1926-##-##`` is the whole year 1926."""

    first: np.datetime64  # its first hour
    last: np.datetime64  # its last hour
    unit: TimeUnit

    @classmethod
    def period(cls, start: np.datetime64, unit: TimeUnit) -> "PartialDate":
        """Return the whole period of ``unit`` that begins at ``start``."""
        length = np.timedelta64(7 if unit is TimeUnit.WEEK else 1, unit.code)
        start = start.astype(f"datetime64[{unit.code}]")
        hour = np.timedelta64(1, "h")
        return cls(start.astype("datetime64[h]"), (start + length).astype("datetime64[h]") - hour, unit)

    @classmethod
    def parse(cls, text: str, date_format: str | None = None) -> "PartialDate | None":
        """Parse a date; return ``None`` if it is written as unknown (``####-##-##``).

        Accepted are ISO dates and times of any precision, ISO weeks (2018-W05) and ``##`` for an unknown month or day;
        with a ``date_format``, only what ``strptime`` accepts for that format.
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

    def check_precision(self, unit: TimeUnit, text: str) -> None:
        """Raise an error if this date spans several time steps of a unit."""
        if self.unit.is_coarser_than(unit):
            raise DataError(f"{text!r} names only a {self.unit}, but one time step is one {unit}")

    @classmethod
    def _from_parts(cls, match: re.Match[str], text: str) -> "PartialDate":
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
            raise DataError(f"{text!r} is not a valid date") from None
        if unit is TimeUnit.HOUR and zone and zone != "Z":
            # The minutes of the time and of its zone decide the hour together.
            ahead = int(f"{zone[0]}1") * (60 * int(zone[1:3]) + int(zone[3:].lstrip(":") or 0))
            value += np.timedelta64((int(match["minute"] or 0) - ahead) // 60, "h")
        return cls.period(value, unit)

    @classmethod
    def _from_week(cls, year: int, week: int, text: str) -> "PartialDate":
        try:
            return cls.period(np.datetime64(date.fromisocalendar(year, week, 1)), TimeUnit.WEEK)
        except ValueError:
            raise DataError(f"{text!r} is not a week of the calendar") from None

    @classmethod
    def _from_format(cls, text: str, date_format: str) -> "PartialDate":
        try:
            value = datetime.strptime(text, date_format)
            if value.tzinfo is not None:
                value = value.astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            raise DataError(f"{text!r} does not match the date format {date_format!r}") from None
        if any(f"%{letter}" in date_format for letter in "HIXc"):
            unit = TimeUnit.HOUR
        elif any(f"%{letter}" in date_format for letter in "djxUWu"):
            unit = TimeUnit.DAY
        elif any(f"%{letter}" in date_format for letter in "mbB"):
            unit = TimeUnit.MONTH
        else:
            unit = TimeUnit.YEAR
        return cls.period(np.datetime64(value), unit)
