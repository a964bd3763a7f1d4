"""The results of a forecast, in names and dates.

All fields are plain values, so the HTTP service uses these classes as its response models.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from titer.errors import TiterError
from titer.forecasting.question import Question

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from titer.forecasting.picture import Picture

NO_ANSWER = "no earlier fact supports any answer"
RESPONSE: dict[str, Any] = {"use_attribute_docstrings": True, "json_schema_serialization_defaults_required": True}
"""Settings for pydantic: the API description quotes the docstrings of the fields, and every field is always present."""


@dataclass(frozen=True)
class PastFact:
    """A past fact in words, as seen from the time of a question."""

    subject: str
    """Name of the fact's own subject."""
    relation: str
    """Name of the relation."""
    object: str
    """Name of the fact's own object."""
    time: str
    """When, as a sortable date or a number."""
    date: str
    """When, for readers."""
    ago: str
    """How long before the question, for readers."""
    age: int
    """How long before the question, in time steps."""
    sentence: str
    """The fact as a sentence."""
    reversed: bool = False
    """Whether the path that the fact is part of leads from its object to its subject."""
    numbers: dict[str, float] = field(default_factory=dict, hash=False)
    """What the model computed for this hop of the path, by name, such as its probability. Empty if nothing."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __str__(self) -> str:
        return self.sentence

    @property
    def words(self) -> str:
        """The sentence, and the numbers of the hop if there are any."""
        shown = ", ".join(f"{name} {value:.2g}" for name, value in self.numbers.items())
        return f"{self.sentence} ({shown})" if shown else self.sentence

    @property
    def line(self) -> str:
        """The fact in the form that ``what_if`` reads."""
        return f"{self.subject} | {self.relation} | {self.object} | {self.time}"

    @property
    def start(self) -> str:
        """The entity that the path leaves."""
        return self.object if self.reversed else self.subject

    @property
    def end(self) -> str:
        """The entity that the path reaches."""
        return self.subject if self.reversed else self.object

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return {**vars(self), "numbers": dict(self.numbers)}


@dataclass(frozen=True)
class Reason:
    """One kind of evidence for an answer: a path of past facts, or a note where there is no path."""

    facts: tuple[PastFact, ...]
    """The facts of the path, from the question's entity to the answer; empty where there is none."""
    share: float
    """Share of the answer's weight before calibration, between 0 and 1. It is not the effect of the facts on the
    probability, which a what-if measures."""
    note: str = ""
    """What accounts for the share where there is no path; with a path, the rule that it follows, if there is one."""
    count: int = 1
    """Number of paths that differ only in their dates. ``facts`` is the latest, ``share`` is the sum over all."""
    text: str = field(init=False, default="")
    """The evidence in words, with the numbers of its facts."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __post_init__(self) -> None:
        words = "; then ".join(fact.words for fact in self.facts) or self.note
        if self.count > 1:
            words += f", the latest of {self.count:,} such {'facts' if len(self.facts) == 1 else 'paths'}"
        if self.facts and self.note:
            words += f" (rule: {self.note})"
        object.__setattr__(self, "text", words)

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return {**vars(self), "facts": [fact.to_dict() for fact in self.facts]}


@dataclass(frozen=True, repr=False)
class Answer:
    """One candidate answer to a question."""

    rank: int
    """1 for the best answer."""
    entity: str
    """Name of the entity."""
    score: float
    """The model's score; its scale depends on the model."""
    probability: float
    """Probability of the answer, calibrated on the validation split."""
    reasons: tuple[Reason, ...] = ()
    """The evidence for the answer, strongest first; empty unless it was asked for."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    def __repr__(self) -> str:
        return f"Answer({self.rank}, {self.entity!r}, probability={self.probability:.4g}, reasons={len(self.reasons)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return {**vars(self), "reasons": [reason.to_dict() for reason in self.reasons]}


@dataclass(frozen=True, repr=False)
class Forecast:
    """The answers to one question, best first."""

    subject: str | None
    """Name of the subject, or None if the question asks for it."""
    relation: str
    """Name of the relation."""
    object: str | None
    """Name of the object, or None if the question asks for it."""
    time: str
    """The time step of the question, as a sortable date or a number."""
    date: str
    """The time step of the question, for readers."""
    ahead: int
    """Time steps between the last known fact and the question; 0 or less for a question within the data."""
    horizon: str
    """The same in words."""
    answers: tuple[Answer, ...]
    """The answers, best first."""
    no_history: bool = False
    """Whether the question's entity has no fact before the question's time."""
    caution: str = ""
    """What makes the answers less reliable, in words: no history, a pair or a relation that never occurred, or a time
    far after the data. Empty if there is nothing."""
    meaning: str = ""
    """What the probabilities mean, in words."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    @property
    def question(self) -> str:
        """The question in words, with ``?`` for what it asks."""
        return str(Question(self.subject, self.relation, self.object, self.time))

    @property
    def entity(self) -> str:
        """The entity that the question names."""
        return self.subject or self.object or ""

    def __repr__(self) -> str:
        best = f", best={self.answers[0].entity!r}" if self.answers else ""
        return f"Forecast({self.question!r}, answers={len(self.answers)}{best})"

    def __str__(self) -> str:
        from titer.forecasting.wording.render import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from titer.forecasting.wording.html import as_html

        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return {**vars(self), "answers": [answer.to_dict() for answer in self.answers]}

    def to_table(self) -> "pa.Table":
        """Return an Arrow table with one row for every answer.

        ``titer.to_table`` returns many forecasts in one table.
        """
        from titer.forecasting.tables import to_table

        # A single forecast needs no number, and has no error.
        return to_table([self]).drop_columns(["question", "error"])

    def to_pandas(self) -> "pd.DataFrame":
        """Return ``to_table`` as a pandas data frame.

        ``titer.to_table(forecasts).to_pandas()`` returns many forecasts in one data frame.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        from titer.forecasting.tables import as_pandas

        return as_pandas(self.to_table())

    def plot(self, rank: int = 1) -> "Picture":
        """Draw the evidence for one answer on a time line.

        The forecast must have been asked for with evidence (``explain=``).

        Args:
            rank: Rank of the answer.

        Returns:
            A picture that notebooks display, with ``svg`` and ``save(path)``.

        Raises:
            TiterError: The forecast has no answer of this rank, or no path of facts to draw for it.
        """
        from titer.forecasting.picture import Picture

        return Picture.of(self, rank)


@dataclass(frozen=True)
class Unanswered:
    """One of many questions that could not be answered, and why."""

    subject: str | None
    """The subject, as written in the question."""
    relation: str
    """The relation, as written in the question."""
    object: str | None
    """The object, as written in the question."""
    time: str | None
    """The time, as written in the question; None if there was none."""
    error: str
    """What is wrong, in one line."""
    suggestions: tuple[str, ...] = ()
    """Existing names similar to an unknown one, most similar first."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    @classmethod
    def because(cls, question: Question, error: TiterError) -> "Unanswered":
        """Return the result for a question that caused an error.

        Args:
            question: The question.
            error: The error; available later as ``exception``.
        """
        time = None if question.at is None else str(question.at)
        line = " ".join(part.strip() for part in str(error).splitlines())
        suggestions = tuple(getattr(error, "suggestions", ()))
        result = cls(question.subject, question.relation, question.object, time, line, suggestions)
        # Not a field, since an exception is not a plain value.
        object.__setattr__(result, "_exception", error)
        return result

    @property
    def exception(self) -> TiterError:
        """The error as an exception to raise."""
        return getattr(self, "_exception", None) or TiterError(self.error)

    @property
    def question(self) -> str:
        """The question in words, with ``?`` for what it asks."""
        return str(Question(self.subject, self.relation, self.object, self.time))

    def __str__(self) -> str:
        return f"{self.question}\nerror: {self.exception}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return {
            "subject": self.subject,
            "relation": self.relation,
            "object": self.object,
            "time": self.time,
            "error": self.error,
            "suggestions": list(self.suggestions),
        }
