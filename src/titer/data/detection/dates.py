"""Detect how the dates of a column are written."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from titer.data.date_format import precision, read_formatted
from titer.data.partial_date import PartialDate
from titer.data.time_unit import TimeUnit
from titer.errors import DataError

MAX_VALUES = 300
"""Number of values that are looked at."""
MIN_SHARE = 0.8
"""Share of values that must be dates of one format for a column to be a column of dates."""

_DAYS = ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %m %Y")
_SHORT = ("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%y", "%d %b %y", "%d%b%Y", "%b-%y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", "T%H:%M:%S")
FORMATS = (
    *(f"{day}{time}" for day in (*_DAYS, *_SHORT) for time in _TIMES),
    "%Y.%m.%d",
    "%m/%Y",
    "%Y%m%dT%H%M%S",
    "%Y%m%dT%H%M%SZ",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %d %H:%M:%S %z %Y",
    "%a %b %d %Y",
)
_INTEGER = re.compile(r"\d+(?:\.0*)?")
# Integers that are more likely dates than counts: their digits, the lowest and highest value, and how to read them.
_NUMBERS: tuple[tuple[int, float, float, str | None, TimeUnit | None], ...] = (
    (4, 1000, 2200, None, TimeUnit.YEAR),
    (6, 100001, 220012, "%Y%m", None),
    (8, 10000101, 22001231, "%Y%m%d", None),
    (14, 1e13, 2.2e13, "%Y%m%d%H%M%S", None),
    (0, 1e8, 4.2e9, "unix", None),
    (0, 1e11, 4.2e12, "unix_ms", None),
)


@dataclass(frozen=True)
class DateGuess:
    """How the dates of a column are written."""

    date_format: str | None = None
    """The format; ``None`` for dates that need none, such as ISO dates."""
    unit: TimeUnit | None = None
    """The unit that has to be given, for years and integers."""
    share: float = 1.0
    """Share of the values that are dates of this format."""
    other: str | None = None
    """Another format that reads all values as well, if day and month could be exchanged."""

    precision: TimeUnit = TimeUnit.DAY
    """The length of time that most of the dates name."""

    @property
    def is_integer(self) -> bool:
        """Whether the values are plain numbers that are no dates."""
        return self.unit is TimeUnit.INTEGER


def guess_dates(values: Sequence[str]) -> DateGuess | None:
    """Return how dates are written, or ``None`` if most of the values are neither dates nor integers."""
    sample = [value.strip() for value in values if value.strip() and "#" not in value][:MAX_VALUES]
    if not sample:
        return None
    if all(_INTEGER.fullmatch(value) for value in sample):
        return _guess_numbers([value.partition(".")[0] for value in sample])
    iso = _share(sample, PartialDate.parse)
    if iso >= MIN_SHARE:
        return DateGuess(share=iso, precision=_precision(sample))
    return _guess_format(sample)


def _guess_format(sample: list[str]) -> DateGuess | None:
    if sum(any(map(str.isdigit, value)) for value in sample) / len(sample) < MIN_SHARE:
        return None  # every format has digits, and to look for them is much faster than to try all formats
    shares = {fmt: share for fmt in FORMATS if (share := _share(sample, _reader(fmt))) > 0}
    best = max(shares.values(), default=0.0)
    if best < MIN_SHARE:
        return None
    fitting = [fmt for fmt, share in shares.items() if share == best]
    if len(fitting) > 1:  # rows are often sorted by date, which distinguishes the day from the month
        fitting.sort(key=lambda fmt: -_sortedness(sample, fmt))
    exchanged = fitting[0].translate({ord("d"): "m", ord("m"): "d"})
    other = exchanged if exchanged in fitting[1:] else None
    return DateGuess(fitting[0], share=best, other=other, precision=precision(fitting[0]))


def _guess_numbers(sample: list[str]) -> DateGuess:
    for digits, low, high, date_format, unit in _NUMBERS:
        if all((not digits or len(text) == digits) and low <= int(text) <= high for text in sample):
            if date_format is not None and _share(sample, _reader(date_format)) < 1:
                continue
            return DateGuess(date_format, unit, precision=unit or precision(date_format or ""))
    return DateGuess(unit=TimeUnit.INTEGER)


def _precision(sample: list[str]) -> TimeUnit:
    units: Counter[TimeUnit] = Counter()
    for text in sample:
        with suppress(DataError):
            if parsed := PartialDate.parse(text):
                units[parsed.unit] += 1
    return units.most_common(1)[0][0]


def _reader(date_format: str) -> Callable[[str], object]:
    return lambda text: read_formatted(text, date_format)


def _share(sample: list[str], read: Callable[[str], object]) -> float:
    """Return the share of values that can be read. A format that fails at the beginning is given up early."""
    num_read = 0
    for seen, text in enumerate(sample, start=1):
        try:
            num_read += read(text) is not None
        except DataError:
            if num_read == 0 and seen >= 10:
                return 0.0
    return num_read / len(sample)


def _sortedness(sample: list[str], date_format: str) -> float:
    """Return the share of neighbours that are in the more frequent order, forwards or backwards."""
    dates: list[datetime] = []
    for text in sample:
        with suppress(DataError):
            dates.append(read_formatted(text, date_format)[0])
    pairs = list(pairwise(dates))
    forwards, backwards = sum(a <= b for a, b in pairs), sum(a >= b for a, b in pairs)
    return max(forwards, backwards) / max(len(pairs), 1)
