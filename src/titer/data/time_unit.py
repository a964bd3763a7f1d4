"""Lengths of a time step."""

from enum import StrEnum


class TimeUnit(StrEnum):
    """The length of one time step, from fine to coarse; ``INTEGER`` is for data that counts time in plain numbers."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    INTEGER = "integer"

    @property
    def code(self) -> str:
        """The numpy code of dates with this precision."""
        return {"hour": "h", "day": "D", "week": "D", "month": "M", "year": "Y"}[self.value]

    def is_coarser_than(self, other: "TimeUnit") -> bool:
        """Return whether a step of this unit is longer than one of another; neither may be ``INTEGER``."""
        return _FINE_TO_COARSE.index(self) > _FINE_TO_COARSE.index(other)


_FINE_TO_COARSE = (TimeUnit.HOUR, TimeUnit.DAY, TimeUnit.WEEK, TimeUnit.MONTH, TimeUnit.YEAR)
