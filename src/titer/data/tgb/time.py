"""The times of TGB files: years, or seconds since 1970 of midnights in some time zone."""

import numpy as np
from numpy.typing import NDArray

from titer.data.time_axis import TimeAxis
from titer.data.time_unit import TimeUnit
from titer.errors import DataError

DAY = 86_400
YEARS = range(1, 2101)
MIN_SECONDS = 10**8
"""Larger times count seconds."""


def axis_of(times: NDArray[np.int64]) -> TimeAxis:
    """Return the time axis of the times of an edge list.

    Args:
        times: The times. Years from 1 to 2100 are years, large numbers are days if each day has one time, and all
            others are plain numbers.
    """
    distinct = np.unique(times)
    first, last = int(distinct[0]), int(distinct[-1])
    if first > MIN_SECONDS and len(distinct) == len(np.unique(_days(distinct))):
        return TimeAxis(TimeUnit.DAY, str(np.datetime64(int(_days(distinct[:1])[0]), "D")))
    # Static facts are one step before the first year.
    if first > YEARS.start and last < YEARS.stop:
        return TimeAxis(TimeUnit.YEAR, f"{first:04d}")
    return TimeAxis.of_integers(times, spread=False)


def steps_of(times: NDArray[np.int64], axis: TimeAxis) -> NDArray[np.int64]:
    """Return the time steps of the times of a TGB file.

    Args:
        times: The times, as in the file.
        axis: The time axis of the dataset.

    Raises:
        DataError: If the axis is not one of ``axis_of``.
    """
    if axis.unit is TimeUnit.DAY:
        return _days(times) - int(np.datetime64(str(axis.origin)).astype(np.int64))
    if axis.unit is TimeUnit.YEAR:
        return times - int(axis.origin)
    if axis.unit is TimeUnit.INTEGER:
        return axis.steps_of_integers(times)
    raise DataError(f"a TGB dataset counts days, years or numbers, not {axis.unit}")


def one_step_earlier(axis: TimeAxis) -> TimeAxis:
    """Return an axis that begins one step earlier."""
    if axis.unit is TimeUnit.INTEGER:
        return TimeAxis(TimeUnit.INTEGER, int(axis.origin) - axis.stride, axis.stride)
    return TimeAxis(axis.unit, axis.label(-1))


def _days(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    # TGB's midnights are those of the machine that made the file, with summer time: the nearest day is meant.
    return (seconds + DAY // 2) // DAY
