"""Durations that users write, such as "30d", in time steps."""

import re

from titer.data.time_axis import TimeAxis
from titer.data.time_unit import TimeUnit
from titer.errors import TiterError

_TEXT = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_UNITS = {
    "h": TimeUnit.HOUR,
    "d": TimeUnit.DAY,
    "w": TimeUnit.WEEK,
    "m": TimeUnit.MONTH,
    "q": TimeUnit.QUARTER,
    "y": TimeUnit.YEAR,
}
_LENGTHS = {
    TimeUnit.HOUR: {TimeUnit.HOUR: 1, TimeUnit.DAY: 24, TimeUnit.WEEK: 168},
    TimeUnit.DAY: {TimeUnit.DAY: 1, TimeUnit.WEEK: 7, TimeUnit.MONTH: 30, TimeUnit.YEAR: 365},
    TimeUnit.WEEK: {TimeUnit.WEEK: 1, TimeUnit.MONTH: 4, TimeUnit.YEAR: 52},
    TimeUnit.MONTH: {TimeUnit.MONTH: 1, TimeUnit.QUARTER: 3, TimeUnit.YEAR: 12},
    TimeUnit.QUARTER: {TimeUnit.QUARTER: 1, TimeUnit.YEAR: 4},
    TimeUnit.YEAR: {TimeUnit.YEAR: 1},
    TimeUnit.INTEGER: dict[TimeUnit, int](),
}


def duration_steps(text: str | int, axis: TimeAxis, name: str) -> int:
    """Return a duration in time steps.

    Args:
        text: A number of time steps, or text with a unit: h, d, w, m (months), q or y, or a longer name of one.
        axis: The calendar of the time steps.
        name: What the duration is for, for error messages.

    Raises:
        TiterError: This is not a duration, or its unit is shorter than a time step.
    """
    match = _TEXT.fullmatch(str(text).strip())
    if match is None:
        raise TiterError(f"{name} must be a number of time steps, such as 7, or a duration, such as 7d; not {text!r}")
    number, unit = int(match[1]), match[2].lower()
    if not unit or unit in ("step", "steps"):
        return number
    lengths, known = _LENGTHS[axis.unit], _UNITS.get(unit[0])
    if not lengths:
        raise TiterError(f"{text!r}: this dataset counts time in numbers; give a number of time steps, such as 7")
    if known is None or known not in lengths or (len(unit) > 1 and unit.rstrip("s") != known.value):
        units = ", ".join(f"{one.value}s" for one in lengths)
        raise TiterError(f"{text!r}: unknown unit {match[2]!r}; known units are {units}")
    return number * lengths[known]
