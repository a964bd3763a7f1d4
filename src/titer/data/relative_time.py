"""Times that are written relative to today or to the last known fact."""

from datetime import date, datetime, timedelta

from titer.data.durations import duration_steps
from titer.data.time_axis import TimeAxis

DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}


def step_of(when: str | int | date | datetime, axis: TimeAxis, last: int, today: date | None = None) -> int:
    """Return the time step of a date that may be relative.

    Args:
        when: A date or number as ``TimeAxis.step`` reads it; ``today``, ``tomorrow`` or ``yesterday``; or a time after
            the last known fact, such as ``+7`` (time steps) or ``+2w``.
        axis: The calendar of the time steps.
        last: The time step of the last known fact.
        today: The current date; by default that of the computer's clock.

    Returns:
        The time step.

    Raises:
        DataError: If this is not a date.
        TiterError: If the duration after ``+`` cannot be read.
    """
    text = when.strip().lower() if isinstance(when, str) else ""
    if text in DAYS:
        return axis.step((today or date.today()) + timedelta(days=DAYS[text]))
    if text.startswith("+"):
        return last + duration_steps(text[1:], axis, "a time after +")
    return axis.step(when)
