"""Put encoded times on a time axis."""

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from titer.data.readers.encoders import TimeEncoder
from titer.data.readers.options import TableOptions
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError

FAR_YEARS = 30
"""Years after today from which an end counts as open: it means that no end is known, as 9999-12-31 does."""


@dataclass(frozen=True)
class Placed:
    """Rows on a time axis."""

    axis: TimeAxis
    first: NDArray[np.int64]
    """The first time step of each row. (rows,)"""
    last: NDArray[np.int64]
    """The last time step of each row. (rows,)"""
    num_far_ends: int
    """Number of ends that count as open because they are far in the future."""


def put_on_axis(times: NDArray[np.int32], encoder: TimeEncoder, options: TableOptions, *, lasting: bool) -> Placed:
    """Return the axis, and the first and last time step of every row.

    Args:
        times: The codes of the times, or of the starts and ends of facts that last. (1 or 2, rows)
        encoder: What the codes mean; it may have an axis already.
        options: The dates to keep.
        lasting: Whether facts last.
    """
    times, num_far_ends = _open_far_ends(times, encoder) if lasting else (times, 0)
    used = np.unique(times)
    used = used[used > TimeEncoder.OPEN]
    if len(used) == 0:
        raise DataError("no row has a known date")
    first, last = np.array(encoder.first), np.array(encoder.last)
    axis = encoder.axis or _choose_axis(first[used], encoder, options, lasting=lasting)
    first, last = _steps(axis, first), _steps(axis, last)
    bounds = [
        axis.step(options.date(bound)) if bound is not None else known
        for bound, known in ((options.earliest, int(first[used].min())), (options.latest, int(last[used].max())))
    ]
    first[TimeEncoder.OPEN], last[TimeEncoder.OPEN] = bounds
    start, end = times[0], times[-1]
    if not lasting:  # a date more precise than the unit is still one time step
        last = first
    return Placed(axis, np.maximum(first[start], bounds[0]), np.minimum(last[end], bounds[1]), num_far_ends)


def _open_far_ends(times: NDArray[np.int32], encoder: TimeEncoder) -> tuple[NDArray[np.int32], int]:
    """Return the codes with ends that are far in the future as open ones, and how many these are."""
    unit = encoder.axis.unit if encoder.axis is not None else encoder.unit
    if unit in (None, TimeUnit.INTEGER):
        return times, 0
    limit = np.datetime64(date.today()).astype("datetime64[Y]") + np.timedelta64(FAR_YEARS, "Y")
    is_far = np.array(encoder.last)[times[1]] >= limit.astype("datetime64[h]").astype(np.int64)
    is_far &= times[1] > TimeEncoder.OPEN
    return np.stack([times[0], np.where(is_far, TimeEncoder.OPEN, times[1])]).astype(np.int32), int(is_far.sum())


def _choose_axis(first: NDArray[np.int64], encoder: TimeEncoder, options: TableOptions, *, lasting: bool) -> TimeAxis:
    unit = encoder.unit or TimeUnit.INTEGER
    if unit is TimeUnit.INTEGER:
        return TimeAxis.of_integers(first, spread=not lasting)
    hours = first.astype("datetime64[h]")
    if unit is TimeUnit.HOUR and not encoder.unit_is_given and np.all(hours == hours.astype("datetime64[D]")):
        unit = TimeUnit.DAY  # midnight everywhere means that there are no times of day
    origin = hours.min()
    if options.earliest is not None:
        earliest = TimeAxis(unit, options.date(options.earliest))
        origin = np.datetime64(str(earliest.origin)).astype("datetime64[h]")
    return TimeAxis.starting_at(unit, origin)


def _steps(axis: TimeAxis, times: NDArray[np.int64]) -> NDArray[np.int64]:
    if axis.unit is TimeUnit.INTEGER:
        return (times - int(axis.origin)) // axis.stride
    return axis.steps_of_hours(times.astype("datetime64[h]"))
