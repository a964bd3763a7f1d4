"""What a forecaster answers: plain objects in names and dates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from titer.errors import TiterError
from titer.forecasting.question import Question

if TYPE_CHECKING:
    import pyarrow as pa

NO_ANSWER = "nothing that was known before this time speaks for anyone"


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
    age: int
    """The same in steps."""
    sentence: str
    """All of it as a sentence."""

    def __str__(self) -> str:
        return self.sentence

    @property
    def line(self) -> str:
        """The fact as it is typed when it is to be taken out or put in."""
        return f"{self.subject} | {self.relation} | {self.object} | {self.time}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


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

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        facts = [fact.to_dict() for fact in self.facts]
        return {"text": str(self), "share": self.share, "note": self.note, "count": self.count, "facts": facts}


@dataclass(frozen=True)
class Answer:
    """One possible answer."""

    rank: int
    entity: str
    score: float
    probability: float
    """How sure the model is, calibrated on validation."""
    reasons: tuple[Reason, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "reasons": [reason.to_dict() for reason in self.reasons]}


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
    no_history: bool = False
    """Whether nothing is known of the question's entity before its time, so that no fact of its own can speak."""
    caution: str = ""
    """What that means, in words."""

    @property
    def question(self) -> str:
        """The question in words, with ``?`` for what is asked."""
        return str(Question(self.subject, self.relation, self.object, self.time))

    def __str__(self) -> str:
        from titer.forecasting.wording.render import as_text

        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "answers": [answer.to_dict() for answer in self.answers]}

    def to_table(self) -> "pa.Table":
        """An Arrow table with a row for every answer."""
        from titer.forecasting.tables import to_table

        return to_table([self])


@dataclass(frozen=True)
class Unanswered:
    """A question among many that makes no sense, and why."""

    question: Question
    error: TiterError

    @property
    def reason(self) -> str:
        """The error in one line."""
        return str(self.error).replace("\n", ". ", 1).replace("\n", " ")

    def __str__(self) -> str:
        return f"{self.question}\nerror: {self.error}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        question = self.question
        return {
            "subject": question.subject,
            "relation": question.relation,
            "object": question.object,
            "time": None if question.at is None else str(question.at),
            "error": self.reason,
            "suggestions": getattr(self.error, "suggestions", []),
        }
