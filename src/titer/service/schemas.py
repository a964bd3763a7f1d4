"""What goes in and out, as the API describes it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, FailFast, Field, Tag

Name = Annotated[str, Field(min_length=1, max_length=1000)]
MAX_CHANGES = 100
MAX_QUESTIONS, MAX_FACTS = 10_000, 50_000
"""No service takes more in one request, whatever its settings: these are counted before anything else is looked at."""
FIRST_MISTAKE = FailFast()
"""A list with a million mistakes is refused for the first: to name them all would take longer than to answer."""


class In(BaseModel):
    """Whatever comes in: a key that means nothing is a mistake, not a detail."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class QuestionIn(In):
    """Who will be the object of (subject, relation, ?), or the subject of (?, relation, object)?"""

    subject: Name | None = Field(None, description="Left out when the subject is asked for.", examples=["Aldoria"])
    relation: Name = Field(examples=["hold talks with"])
    object: Name | None = Field(None, description="Given when the subject is asked for.")
    at: Annotated[str, Field(max_length=100)] | int | None = Field(
        None, description="A date as in the data. Without it: the step after the last known fact."
    )


class Wanted(In):
    """How much to answer."""

    top: int = Field(10, ge=1, description="How many answers.")
    explain: int = Field(0, ge=0, description="How many pieces of evidence for each answer.")


class OneIn(QuestionIn, Wanted):
    """One question."""


class ManyIn(Wanted):
    """Many questions, answered together."""

    questions: Annotated[list[QuestionIn], FIRST_MISTAKE] = Field(min_length=1, max_length=MAX_QUESTIONS)


def _one_or_many(body: Any) -> str:
    many = isinstance(body, ManyIn) or (isinstance(body, dict) and "questions" in body)
    return "many" if many else "one"


# Told apart before anything is checked, so that mistakes are named for what was meant.
OneOrManyIn = Annotated[Annotated[OneIn, Tag("one")] | Annotated[ManyIn, Tag("many")], Discriminator(_one_or_many)]


class FactIn(In):
    """A fact by its names and date."""

    subject: Name
    relation: Name
    object: Name
    time: Annotated[str, Field(max_length=100)] | int


class Changed(In):
    """A history in which some facts had not happened, or others had."""

    without: Annotated[list[FactIn], FIRST_MISTAKE] = Field([], max_length=MAX_CHANGES)
    with_: Annotated[list[FactIn], FIRST_MISTAKE] = Field([], alias="with", max_length=MAX_CHANGES)


class WhatIfIn(OneIn, Changed):
    """A question as things are, and as if some facts had not happened, or others had."""


class ExplainIn(QuestionIn, Changed):
    """Why an answer has its probability."""

    answer: Name
    limit: int = Field(10, ge=1, description="How many pieces of evidence.")


class FactsIn(In):
    """New facts."""

    facts: Annotated[list[FactIn], FIRST_MISTAKE] = Field(min_length=1, max_length=MAX_FACTS)
    backfill: bool = Field(False, description="Whether facts earlier than the last known ones may be taken.")


class FactOut(BaseModel):
    """A past fact in words, the way round it happened."""

    subject: str
    relation: str
    object: str
    time: str
    date: str
    ago: str
    age: int = Field(description="Steps before the question.")
    sentence: str


class ReasonOut(BaseModel):
    """Past facts, in order from the question's entity to the answer, and their share of its score."""

    text: str
    share: float
    note: str
    count: int = Field(description="How many times the same came to pass; the facts are the latest.")
    facts: list[FactOut]


class AnswerOut(BaseModel):
    """One possible answer."""

    rank: int
    entity: str
    score: float
    probability: float
    reasons: list[ReasonOut]


class ForecastOut(BaseModel):
    """The answers to one question, best first."""

    subject: str | None
    relation: str
    object: str | None
    time: str
    ahead: int
    horizon: str
    answers: list[AnswerOut]
    no_history: bool
    caution: str


class UnansweredOut(BaseModel):
    """A question among many that makes no sense, and why."""

    subject: str | None
    relation: str
    object: str | None
    time: str | None
    error: str
    suggestions: list[str]


class ManyOut(BaseModel):
    """The answers to many questions, in their order."""

    forecasts: list[ForecastOut | UnansweredOut]


class MoveOut(BaseModel):
    """Where an answer stood before a change, and where it stands after it."""

    entity: str
    rank_before: int | None
    rank_after: int | None
    probability_before: float
    probability_after: float


class WhatIfOut(BaseModel):
    """The answers to a question before and after a change of history."""

    without: list[FactOut]
    with_: list[FactOut] = Field(alias="with")
    new_entities: list[str]
    moves: list[MoveOut]
    before: ForecastOut
    after: ForecastOut


class AddedOut(BaseModel):
    """What has become of facts that were sent. They are on disk, and in force for the next question."""

    added: int
    known: int = Field(description="Sent before, twice, or in the data: these count once.")
    backfilled: int
    new_entities: list[str] = Field(description="Entities that training never saw.")
    last_sequence: int


class NamesOut(BaseModel):
    """Names that a text may become."""

    names: list[str]


class HealthOut(BaseModel):
    """That the service is there."""

    status: Literal["ok"]


class ModelOut(BaseModel):
    """What answers, and what it knows."""

    model: str
    dataset: str
    checksum: str
    entities: int
    relations: int
    facts: int
    first: str
    last: str
    next: str = Field(description="The step that a question without a time is about.")
    temperature: float
    config: dict[str, Any]
    evaluations: list[dict[str, Any]]


class ProblemOut(BaseModel):
    """What went wrong, and what to do about it."""

    code: str
    message: str
    suggestions: list[str] = []
    details: list[str] = []


class ErrorOut(BaseModel):
    """The one shape of every error."""

    error: ProblemOut
