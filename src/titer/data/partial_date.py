"""Dates of any precision, parsed from text."""

import re
from dataclasses import dataclass
from datetime import date

import numpy as np

from titer.data.date_format import read_formatted
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
_QUARTER = re.compile(r"(?P<year>\d{4})[- ]?Q(?P<quarter>[1-4])|Q(?P<quarter2>[1-4])[- ]?(?P<year2>\d{4})")
# Dates with the name of the month, as titer prints them, and as they are often written: 4 Oct 2018, 04-October-2018.
_NAMED = re.compile(
    r"(?P<week>week of )?(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?[- .]+)?(?P<month>[a-z]{3,9})\.?[- ,]+"
    r"(?:(?P<day2>\d{1,2})(?:st|nd|rd|th)?,? +)?(?P<year>\d{4})"
    r"(?:,? (?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::[0-5]\d)?)?",
    re.IGNORECASE,
)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]


@dataclass(frozen=True)
class PartialDate:
    """A date with the precision of its text: ``1926-##-##`` is the whole year 1926."""

    first: np.datetime64  # its first hour
    last: np.datetime64  # its last hour
    unit: TimeUnit

    @classmethod
    def period(cls, start: np.datetime64, unit: TimeUnit) -> "PartialDate":
        """Return the whole period of ``unit`` that begins at ``start``."""
        length = np.timedelta64(unit.length, unit.code)
        start = start.astype(f"datetime64[{unit.code}]")
        hour = np.timedelta64(1, "h")
        return cls(start.astype("datetime64[h]"), (start + length).astype("datetime64[h]") - hour, unit)

    @classmethod
    def parse(cls, text: str, date_format: str | None = None, pivot_year: int | None = None) -> "PartialDate | None":
        """Parse a date; return ``None`` if it is written as unknown (``####-##-##``).

        Accepted are ISO dates and times of any precision, ISO weeks (2018-W05), quarters (2013-Q4), English dates
        (4 Oct 2018, 04-October-2018) and ``##`` for an unknown month or day; with a ``date_format``, only that format.
        """
        if date_format is not None:
            value, unit = read_formatted(text, date_format, pivot_year)
            return cls.period(np.datetime64(value), unit)
        if week := _WEEK.fullmatch(text):
            return cls._from_week(int(week["year"]), int(week["week"]), text)
        if quarter := _QUARTER.fullmatch(text):
            year, number = (int(quarter[k] or quarter[f"{k}2"]) for k in ("year", "quarter"))
            return cls.period(np.datetime64(f"{year:04d}-{3 * number - 2:02d}"), TimeUnit.QUARTER)
        if (named := _NAMED.fullmatch(text)) and (parsed := cls._from_named(named, text)):
            return parsed
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
    def _from_named(cls, match: re.Match[str], text: str) -> "PartialDate | None":
        """Return a date with the name of its month, or ``None`` if that is not the name of a month."""
        name, day = match["month"].lower(), match["day"] or match["day2"]
        name = "september" if name == "sept" else name
        month = next((i for i, known in enumerate(_MONTHS, start=1) if name in (known, known[:3])), 0)
        if not month or (match["day"] and match["day2"]):
            return None
        written, unit = f"{int(match['year']):04d}-{month:02d}", TimeUnit.MONTH
        if day:
            written, unit = f"{written}-{int(day):02d}", TimeUnit.WEEK if match["week"] else TimeUnit.DAY
            if match["hour"]:
                written, unit = f"{written}T{int(match['hour']):02d}", TimeUnit.HOUR
        try:
            return cls.period(np.datetime64(written), unit)
        except ValueError:
            raise DataError(f"{text!r} is not a valid date") from None
