"""What a forecaster answers: plain objects in names and dates."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class DatedFact:
    """A past fact in words, the way round it happened."""

    subject: str
    relation: str
    object: str
    time: str
    """A sortable date, or a plain number."""
    date: str
    """The same for people."""
    ago: str
    """How long before the question, for people."""

    def __str__(self) -> str:
        return f"{self.subject} — {self.relation} — {self.object}, {self.date} ({self.ago} before)"


@dataclass(frozen=True)
class Reason:
    """Past facts, in order from the question's subject to the answer, and their share of the answer's score."""

    facts: tuple[DatedFact, ...]
    share: float
    note: str = ""
    count: int = 1
    """How many times the same came to pass; ``facts`` are the latest, ``share`` is that of all of them."""

    def __str__(self) -> str:
        return ("; then ".join(str(fact) for fact in self.facts) or self.note) + self._others

    @property
    def _others(self) -> str:
        if self.count == 1:
            return ""
        return f", the latest of {self.count:,} such {'facts' if len(self.facts) == 1 else 'paths'}"


@dataclass(frozen=True)
class Answer:
    """One possible answer."""

    rank: int
    entity: str
    score: float
    probability: float
    """How sure the model is, calibrated on validation."""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """The answers to one question, best first."""

    subject: str | None
    relation: str
    object: str | None
    time: str
    ahead: int
    """Steps between the last known fact and the question; 0 or less lies inside the data."""
    horizon: str
    """The same in words."""
    answers: tuple[Answer, ...]

    @property
    def question(self) -> str:
        """The question in words, with ``?`` for what is asked."""
        return f"{self.subject or '?'} — {self.relation} — {self.object or '?'}, {self.time}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
