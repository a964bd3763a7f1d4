"""Windows of time steps, from what users write."""

from dataclasses import dataclass

from titer.data.durations import duration_steps
from titer.data.relative_time import step_of
from titer.data.time_axis import TimeAxis
from titer.errors import TiterError
from titer.events.index import MAX_AHEAD
from titer.forecasting.predictor import Predictor
from titer.forecasting.question import When
from titer.graph.sorted_edges import LAST_STEP

Within = str | int
"""Length of a window: a number of time steps, or text with a unit such as "7d" or "2 weeks"."""


@dataclass(frozen=True)
class Window:
    """Time steps that a forecast is about, and the step before which all facts are used."""

    origin: int
    """Only facts before this time step are used."""
    start: int
    """The first step of the window."""
    steps: int
    """The number of steps."""

    @property
    def end(self) -> int:
        """The last step of the window."""
        return self.start + self.steps - 1

    @property
    def first(self) -> int:
        """The first step of the window, counted from the origin: 1 for the origin itself."""
        return self.start - self.origin + 1

    @property
    def last(self) -> int:
        """The last step of the window, counted from the origin."""
        return self.end - self.origin + 1

    @classmethod
    def of(cls, predictor: Predictor, start: When | None, within: Within) -> "Window":
        """Return a window that begins at a date, or after the last known fact.

        Raises:
            TiterError: The length is invalid.
            DataError: The date is invalid.
        """
        next_step = predictor.last_time + 1
        first = next_step if start is None else step_of(start, predictor.axis, predictor.last_time)
        if first - predictor.history.first_time + MAX_AHEAD > LAST_STEP:
            raise TiterError(f"{start} is too far ahead")
        return cls(min(first, next_step), first, num_steps(within, predictor.axis))

    def words(self, axis: TimeAxis) -> str:
        """Return the window in words."""
        if self.steps == 1:
            return axis.words(self.start)
        return f"the {axis.duration(self.steps)} from {axis.words(self.start)} to {axis.words(self.end)}"


def num_steps(within: Within, axis: TimeAxis) -> int:
    """Return the length of a window in time steps.

    Args:
        within: A number of time steps, or text with a unit: h, d, w, m (months) or y, or a longer name of one.
        axis: The calendar of the time steps.

    Raises:
        TiterError: This is not a length, its unit is shorter than a time step, or it is too long.
    """
    number = duration_steps(within, axis, "within")
    if not 1 <= number <= MAX_AHEAD:
        raise TiterError(f"a window has 1 to {MAX_AHEAD} time steps, not {number}")
    return number
