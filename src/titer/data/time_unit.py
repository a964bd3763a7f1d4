"""Lengths of a time step."""

from enum import StrEnum


class TimeUnit(StrEnum):
    """The length of one time step, from fine to coarse; ``INTEGER`` is for data that counts time in plain numbers."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    INTEGER = "integer"

    @property
    def code(self) -> str:
        """The numpy code of dates with this precision."""
        return {"hour": "h", "day": "D", "week": "D", "month": "M", "quarter": "M", "year": "Y"}[self.value]

    @property
    def length(self) -> int:
        """The number of periods of ``code`` in one time step: 7 days are a week, 3 months a quarter."""
        return {TimeUnit.WEEK: 7, TimeUnit.QUARTER: 3}.get(self, 1)

    def is_coarser_than(self, other: "TimeUnit") -> bool:
        """Return whether a step of this unit is longer than one of another; neither may be ``INTEGER``."""
        units = list(TimeUnit)
        return units.index(self) > units.index(other)
