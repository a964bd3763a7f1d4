"""Dates in a given format: the codes of ``strptime``, or ``unix`` and ``unix_ms`` for counts since 1970."""

import re
from datetime import UTC, datetime, timedelta

from titer.data.time_unit import TimeUnit
from titer.errors import DataError

UNIX = {"unix": 1, "unix_ms": 1000}
"""Formats of numbers since 1970, with the number of them in a second."""

_EPOCH = datetime(1970, 1, 1)
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d*)?")
_LETTERS = {"YYYY": "%Y", "YY": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "DD": "%d", "HH": "%H", "SS": "%S"}
_UNITS = (
    (TimeUnit.HOUR, "HIXc"),
    (TimeUnit.DAY, "djxUWu"),
    (TimeUnit.MONTH, "mbB"),
)


def read_formatted(text: str, date_format: str, pivot_year: int | None = None) -> tuple[datetime, TimeUnit]:
    """Read a date in a format.

    Args:
        text: The date.
        date_format: A format of ``strptime``, ``unix`` or ``unix_ms``.
        pivot_year: The latest year that a two-digit year can mean; by default 2068, as in ``strptime``.

    Returns:
        The date in UTC, and its precision.

    Raises:
        DataError: If the text does not match the format.
    """
    try:
        if date_format in UNIX:
            return _from_unix(text, UNIX[date_format]), TimeUnit.HOUR
        value = datetime.strptime(text, date_format)
        if pivot_year is not None and "%y" in date_format:
            value = value.replace(year=pivot_year - (pivot_year - value.year) % 100)
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise DataError(f"{text!r} does not match the date format {date_format!r}") from None
    return value, precision(date_format)


def precision(date_format: str) -> TimeUnit:
    """Return the length of time that dates of a format name."""
    if date_format in UNIX:
        return TimeUnit.HOUR
    return next(
        (unit for unit, letters in _UNITS if any(f"%{letter}" in date_format for letter in letters)), TimeUnit.YEAR
    )


def check_format(date_format: str | None) -> None:
    """Raise an error if this cannot be a date format, such as ``DD/MM/YYYY``, with the format that was meant."""
    if date_format is None or "%" in date_format or date_format in UNIX:
        return
    meant = re.sub("|".join(_LETTERS), lambda found: _LETTERS[found[0]], date_format.upper())
    hint = f"write it as {meant}" if "%" in meant else "use the codes of strptime, such as %d.%m.%Y, unix or unix_ms"
    raise DataError(f"the date format {date_format!r} has no code such as %d; {hint}")


def _from_unix(text: str, per_second: int) -> datetime:
    if not _NUMBER.fullmatch(text):
        raise ValueError("not a number")
    return _EPOCH + timedelta(seconds=float(text) / per_second)
