"""English for dates and durations."""

import numpy as np

from titer.counted import counted
from titer.data.time_unit import TimeUnit


def date_words(date: np.datetime64, unit: TimeUnit) -> str | None:
    """Return a date in words, such as "4 Oct 2018", or ``None`` if it is outside Python's calendar."""
    value = date.astype(object)
    if isinstance(value, int):
        return None
    match unit:
        case TimeUnit.YEAR:
            return str(date)
        case TimeUnit.MONTH:
            return f"{value:%b %Y}"
        case TimeUnit.QUARTER:
            year, _, quarter = quarter_label(date).partition("-")
            return f"{quarter} {year}"
        case TimeUnit.WEEK:
            return f"week of {value.day} {value:%b %Y}"
        case TimeUnit.HOUR:
            return f"{value.day} {value:%b %Y, %H:%M}"
        case _:
            return f"{value.day} {value:%b %Y}"


def quarter_label(month: np.datetime64) -> str:
    """Return the quarter that begins with a month, such as "2013-Q4"."""
    year, _, number = str(month).rpartition("-")
    return f"{year}-Q{(int(number) + 2) // 3}"


def in_sentence(words: str, unit: TimeUnit) -> str:
    """Put the preposition before a date: "on 4 Oct 2018", "in 2018", "at 17"."""
    match unit:
        case TimeUnit.INTEGER:
            return f"at {words}"
        case TimeUnit.YEAR | TimeUnit.QUARTER | TimeUnit.MONTH:
            return f"in {words}"
        case TimeUnit.WEEK:
            return f"in the {words}"
        case _:
            return f"on {words}"


def duration_words(num_steps: int, unit: TimeUnit) -> str:
    """Return a number of time steps in words, such as "3 days"."""
    name = "step" if unit is TimeUnit.INTEGER else unit.value
    return counted(num_steps, name)
