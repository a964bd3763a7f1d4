"""The results of questions about events, in names and dates.

All fields are plain values, so the HTTP service uses these classes as its response models.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from titer.forecasting.forecast import RESPONSE, PastFact, Reason

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class _Result:
    """What all results share: text, HTML, and forms for other programs."""

    def __str__(self) -> str:
        from titer.forecasting.events.render import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from titer.forecasting.events.html import as_html

        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return _plain(self)

    def to_table(self) -> "pa.Table":
        """Return an Arrow table: one row for every event, or for every step of ``when``."""
        from titer.forecasting.events.tables import to_table

        return to_table([self])

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas data frame with the rows of ``to_table``.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from titer.forecasting.tables import as_pandas

        return as_pandas(self.to_table())


@dataclass(frozen=True, repr=False)
class LikelyEvent:
    """One event with its probability in a window of time steps."""

    rank: int
    """1 for the first event of the list."""
    subject: str
    """Name of the subject."""
    relation: str
    """Name of the relation."""
    object: str
    """Name of the object."""
    probability: float
    """Probability that the event happens in the window at least once. For a lasting fact that holds before the window:
    with ``kind`` "continues", that it still holds in the last step, without having ended; with "ends", that it has
    ended by then."""
    expected: float
    """Expected number of time steps of the window in which the fact holds or the event happens."""
    usual: float
    """Probability in a window of this length at the usual rate: that of the fact in all steps before the window. With
    ``kind`` "continues" or "ends", the rate at which facts of the relation that held ended one step later."""
    lift: float | None
    """How many times as likely as usual: ``probability / usual``; None for a fact that never occurred, or if ``usual``
    is 0."""
    kind: str
    """What the forecast is about: "repeats" (an event that occurred before), "continues" (a lasting fact that holds
    still does in the last step), "begins" (a lasting fact that does not hold now), "ends" (a lasting fact that holds
    has ended by the last step), or "new" (a fact that never occurred)."""
    rate: str
    """The usual rate and the lift in words, such as "usually 2.1 a month, now 4.0 times as likely"."""
    times: int
    """How often the fact occurred before the window."""
    last: PastFact | None
    """When it occurred last; None if never."""
    causes: tuple[Reason, ...] = ()
    """Past facts that raise the probability, strongest first; if asked for."""
    reasons: tuple[Reason, ...] = ()
    """The model's evidence for the object, given subject and relation, strongest first; if asked for. Empty with
    ``kind`` "ends"."""
    against: tuple[Reason, ...] = ()
    """Past facts that make a lasting fact go on, strongest first; if asked for, with ``kind`` "ends" only."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __repr__(self) -> str:
        name = f"{self.subject} — {self.relation} — {self.object}"
        return f"LikelyEvent({self.rank}, {name!r}, {self.kind}, probability={self.probability:.4g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return _plain(self)


@dataclass(frozen=True, repr=False)
class EventForecast(_Result):
    """The most likely events of a window of time steps."""

    subject: str | None
    """The subject that all events have; None for any."""
    relation: str | None
    """The relation that all events have; None for any."""
    object: str | None
    """The object that all events have; None for any."""
    entity: str | None
    """The entity that all events have as subject or object; None for any."""
    start: str
    """The first step of the window, as a sortable date or a number. Only facts before it are used."""
    end: str
    """The last step of the window."""
    steps: int
    """Number of time steps in the window."""
    window: str
    """The window in words."""
    horizon: str
    """How far the window is from the last known fact, in words."""
    sort: str
    """What the events are sorted by: "probability" or "lift"."""
    kind: str | None
    """The only kind of events in the list; None for all kinds but "ends"."""
    expected: float
    """Expected number of different events in the window that match, listed or not. A fact that holds counts if it still
    holds in the last step."""
    events: tuple[LikelyEvent, ...]
    """The events, first in the order of ``sort`` first."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __repr__(self) -> str:
        return f"EventForecast({self.window!r}, events={len(self.events)}, expected={self.expected:.4g})"


@dataclass(frozen=True, repr=False)
class Likelihood(_Result):
    """Whether one event happens in a window of time steps, or a lasting fact that holds still does in the last step."""

    start: str
    """The first step of the window, as a sortable date or a number. Only facts before it are used."""
    end: str
    """The last step of the window."""
    steps: int
    """Number of time steps in the window."""
    window: str
    """The window in words."""
    horizon: str
    """How far the window is from the last known fact, in words."""
    event: LikelyEvent
    """The event with its probability, usual rate and evidence."""
    meaning: str
    """What the probability says, in words, such as "71.0% that it still holds in 2021, 29.0% that it has ended"."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __repr__(self) -> str:
        return f"Likelihood({self.window!r}, {self.event})"

    @property
    def probability(self) -> float:
        """Probability that the event happens in the window, or that a fact that holds still does in its last step."""
        return self.event.probability


@dataclass(frozen=True)
class SurvivalStep:
    """One step of the time until an event, or until the end of a lasting fact that holds before the first step."""

    time: str
    """The time step, as a sortable date or a number."""
    date: str
    """The time step, for readers."""
    ahead: int
    """1 for the first step of the forecast."""
    first: float
    """Probability that the event happens, or the fact ends, in this step and in none before it."""
    by: float
    """Probability that the event has happened by the end of this step, or that the fact has ended: it does not hold in
    this step or in an earlier one."""
    survival: float
    """Probability that the event has not happened by the end of this step, or that the fact still holds: 1 - ``by``."""
    probability: float
    """Probability that the event happens, or the fact holds, in this step, whatever happened in earlier ones."""
    usual: float
    """What ``by`` would be at the usual rate, as for ``LikelyEvent.usual``."""


@dataclass(frozen=True)
class Quantile:
    """A quantile of the time until an event, or until the end of a lasting fact that holds."""

    level: float
    """The share of probability, such as 0.5 for the median."""
    time: str | None
    """The first step by which the event has happened, or the fact has ended, with this probability; None if it is after
    the last step."""
    date: str | None
    """The same for readers; None if it is after the last step."""
    ahead: int | None
    """The same as a number of steps, 1 for the first; None if it is after the last step."""


@dataclass(frozen=True, repr=False)
class WhenForecast(_Result):
    """When one event happens next, or when a lasting fact that holds ends: then ``event.kind`` is "ends"."""

    start: str
    """The first step of the forecast, as a sortable date or a number. Only facts before it are used."""
    end: str
    """The last step of the curve."""
    steps: int
    """Number of time steps of the curve."""
    window: str
    """All steps of the curve in words."""
    horizon: str
    """How far the first step is from the last known fact, in words."""
    event: LikelyEvent
    """The event, with its probability within all steps of the curve."""
    meaning: str
    """What the probability of the event says, in words."""
    quantiles: tuple[Quantile, ...]
    """Quantiles of the time until it happens or ends, by level."""
    curve: tuple[SurvivalStep, ...]
    """The distribution of the time until it happens or ends, step by step."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __repr__(self) -> str:
        return f"WhenForecast({self.event}, median={self.median})"

    @property
    def median(self) -> str | None:
        """The step by which it has happened or ended with a probability of one half; None if it is later."""
        return next((quantile.time for quantile in self.quantiles if quantile.level == 0.5), None)


def _plain(value: Any) -> Any:
    """Return a result as dictionaries, lists and plain values."""
    if isinstance(value, PastFact | Reason):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value
