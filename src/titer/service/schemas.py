"""Requests of the HTTP API, and the responses that are not results of a forecaster."""

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Discriminator, FailFast, Field, StrictInt, Tag, model_validator
from pydantic_core import PydanticCustomError

from titer.forecasting.forecast import Forecast, Unanswered

Name = Annotated[str, Field(min_length=1, max_length=1000)]
RelationName = Annotated[Name, Field(description="Name of the relation.", examples=["hold talks with"])]
Date = Annotated[str, Field(max_length=100)] | StrictInt
FactRow = tuple[str, str, str, str | int] | tuple[str, str, str]
NameQuery = Annotated[str, Query(min_length=1, max_length=1000, description="A name, or an unambiguous prefix of it.")]
PrefixQuery = Annotated[str, Query(max_length=200, description="The text to complete, in any case.")]
MAX_CHANGES = 100
MAX_NAMES = 50
"""Names in a list of completions at most."""
LimitQuery = Annotated[int, Query(ge=1, le=MAX_NAMES, description="Length of each list at most.")]
MAX_QUESTIONS, MAX_FACTS = 10_000, 50_000
"""Upper bounds for any service, whatever its settings: these are checked before anything else."""
FIRST_MISTAKE = FailFast()
"""A list is rejected at its first mistake, since reporting a million of them would take longer than answering."""


class Request(BaseModel):
    """A request; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _reject_unknown_keys(cls, body: Any) -> Any:
        """Reject an object at its first unknown key: an error for each of a million keys would take seconds."""
        if isinstance(body, dict) and len(body) > len(cls.model_fields):
            known = {name for key, field in cls.model_fields.items() for name in (key, field.alias)}
            unknown = next((key for key in body if key not in known), None)
            if unknown is not None:
                raise PydanticCustomError("extra_forbidden", "unknown key {key}", {"key": repr(unknown)[:100]})
        return body


class QuestionIn(Request):
    """Ask for the object of (subject, relation, ?) or the subject of (?, relation, object)."""

    subject: Name | None = Field(None, description="Leave out to ask for the subject.", examples=["Aldoria"])
    relation: RelationName
    object: Name | None = Field(None, description="Leave out to ask for the object.")
    at: Date | None = Field(
        None, description="A date in the form of the data. Default: the step after the last known fact."
    )


class Amount(Request):
    """How much to return."""

    top: int = Field(10, ge=1, description="Number of answers.")
    explain: int = Field(0, ge=0, description="Number of reasons for each answer.")


class OneIn(QuestionIn, Amount):
    """One question."""


class ManyIn(Amount):
    """Several questions, answered together."""

    questions: Annotated[list[QuestionIn], FIRST_MISTAKE] = Field(
        min_length=1, max_length=MAX_QUESTIONS, description="The questions."
    )


def _one_or_many(body: Any) -> str:
    many = isinstance(body, ManyIn) or (isinstance(body, dict) and "questions" in body)
    return "many" if many else "one"


# The form is chosen before validation, so that errors refer to the intended one.
OneOrManyIn = Annotated[Annotated[OneIn, Tag("one")] | Annotated[ManyIn, Tag("many")], Discriminator(_one_or_many)]


class TripleIn(Request):
    """Subject, relation and object in names."""

    subject: Name = Field(description="Name of the subject.")
    relation: RelationName
    object: Name = Field(description="Name of the object.")


class FactIn(TripleIn):
    """A fact in names, with its date."""

    time: Date = Field(description="A date in the form of the data.")

    @property
    def row(self) -> FactRow:
        """The fact as a forecaster takes it."""
        return self.subject, self.relation, self.object, self.time


class LeftOutIn(TripleIn):
    """A fact to leave out of the history, or all facts with these names."""

    time: Date | None = Field(
        None, description="A date in the form of the data. Default: all such facts before the question."
    )

    @property
    def row(self) -> FactRow:
        """The fact as a forecaster takes it."""
        names = self.subject, self.relation, self.object
        return names if self.time is None else (*names, self.time)


class ChangesIn(Request):
    """Facts to leave out of the history, and facts to add to it."""

    without: Annotated[list[LeftOutIn], FIRST_MISTAKE] = Field(
        [], max_length=MAX_CHANGES, description="Facts to leave out of the history."
    )
    with_: Annotated[list[FactIn], FIRST_MISTAKE] = Field(
        [], alias="with", max_length=MAX_CHANGES, description="Facts to add to the history."
    )

    @property
    def changes(self) -> dict[str, list[FactRow]]:
        """The changes as a forecaster takes them."""
        return {"without": [one.row for one in self.without], "with_": [one.row for one in self.with_]}


class WhatIfIn(OneIn, ChangesIn):
    """A question, and changes of the history to compare its answers under."""


class ExplainIn(QuestionIn, ChangesIn):
    """A question, and the answer to explain."""

    answer: Name = Field(description="Name of the answer.")
    limit: int = Field(10, ge=1, description="Number of reasons.")


class PictureIn(Request):
    """A forecast with evidence, as this service returned it, and the answer to draw."""

    forecast: Forecast = Field(description="The forecast, with evidence for the answer.")
    rank: int = Field(1, ge=1, description="Rank of the answer whose evidence is drawn.")
    embedded: bool = Field(False, description="Leave out the style sheet, for pages that include timeline.css.")


class FactsIn(Request):
    """Facts to add."""

    facts: Annotated[list[FactIn], FIRST_MISTAKE] = Field(min_length=1, max_length=MAX_FACTS, description="The facts.")
    backfill: bool = Field(False, description="Accept facts earlier than the last known one.")
    allow_future: bool = Field(False, description="Accept facts after today or far after the last known one.")


class RemovalIn(Request):
    """Added facts to remove."""

    sequences: Annotated[list[StrictInt], FIRST_MISTAKE] = Field(
        min_length=1, max_length=MAX_FACTS, description="The numbers of the facts."
    )
    note: str = Field("", max_length=1000, description="The reason, for the journal.")


class ManyOut(BaseModel):
    """The results of several questions, in their order."""

    forecasts: list[Forecast | Unanswered] = Field(description="A forecast for each question, or why there is none.")


class AddedFactOut(BaseModel):
    """A fact that was added, with its number."""

    sequence: int = Field(description="Its number; the first fact that was added has number 1.")
    subject: str = Field(description="Name of the subject.")
    relation: str = Field(description="Name of the relation.")
    object: str = Field(description="Name of the object.")
    time: str = Field(description="The time step, as a sortable date or a number.")
    added_at: str = Field(description="When it was added, in UTC.")


class RemovedOut(BaseModel):
    """Facts that were removed; they are not used from the next question on."""

    removed: list[AddedFactOut] = Field(description="The removed facts.")
    facts: int = Field(description="Number of added facts that are left.")


class AddedFactsOut(BaseModel):
    """Added facts, in the order of their addition."""

    facts: list[AddedFactOut] = Field(description="The facts.")


class HealthOut(BaseModel):
    """The service is running."""

    status: Literal["ok"] = Field(description="Always ok.")


class ReadyOut(BaseModel):
    """The model is loaded and the fact store responds."""

    status: Literal["ready"] = Field(description="Always ready; otherwise the response is an error.")


class ModelOut(BaseModel):
    """The served model and its data."""

    model: str = Field(description="Name of the model.")
    version: str | None = Field(description="The version of the run; it changes with every training.")
    trained: str | None = Field(description="When the weights were written, in UTC.")
    dataset: str = Field(description="Name of the dataset.")
    checksum: str = Field(description="SHA-256 checksum of the dataset.")
    entities: int = Field(description="Number of entities, added ones included.")
    relations: int = Field(description="Number of relations.")
    facts: int = Field(description="Number of known facts, added ones included.")
    first: str = Field(description="Time step of the first known fact.")
    last: str = Field(description="Time step of the last known fact.")
    next: str = Field(description="The time step that a question without a date is about.")
    temperature: float = Field(description="What scores are divided by, so that probabilities are calibrated.")
    config: dict[str, Any] = Field(description="The settings of the model and of its training.")
    evaluations: list[dict[str, Any]] = Field(description="Metrics, as titer evaluate recorded them.")


class ReloadOut(BaseModel):
    """The version that is served after a reload."""

    status: Literal["reloaded", "unchanged", "loading"] = Field(
        description="loading: the new version is served as soon as it is ready."
    )
    version: str | None = Field(description="The version that is served.")
    trained: str | None = Field(description="When its weights were written, in UTC.")


class ProblemOut(BaseModel):
    """What is wrong, and what to do."""

    code: str = Field(description="The kind of error, in a word that does not change.")
    message: str = Field(description="What is wrong and what to do, in one sentence.")
    suggestions: list[str] = Field([], description="Existing names similar to an unknown one, most similar first.")
    details: list[str] = Field([], description="Where the request is wrong, one line for each place.")


class ErrorOut(BaseModel):
    """The format of every error."""

    error: ProblemOut = Field(description="The error.")
