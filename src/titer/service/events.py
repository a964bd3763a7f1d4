"""Routes about events: what happens, whether, and when."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from titer.forecasting.events.results import EventForecast, Likelihood, WhenForecast
from titer.service.problems import check_limits
from titer.service.schemas import NameQuery
from titer.service.serving import Current
from titer.service.settings import Settings

MAX_EVENTS = 1000
MAX_PAST = 500
SubjectFilter = Annotated[str | None, Query(max_length=1000, description="Only facts with this subject.")]
RelationFilter = Annotated[str | None, Query(max_length=1000, description="Only facts with this relation.")]
ObjectFilter = Annotated[str | None, Query(max_length=1000, description="Only facts with this object.")]
EntityFilter = Annotated[
    str | None, Query(max_length=1000, description="Only facts with this entity, as subject or object.")
]
FromQuery = Annotated[
    str | None,
    Query(alias="from", max_length=100, description="First step. Default: the step after the last known fact."),
]
WithinQuery = Annotated[
    str, Query(max_length=20, description="Length of the window: time steps, such as 7, or a duration, such as 7d.")
]
SortQuery = Annotated[
    Literal["probability", "lift"],
    Query(description="lift lists what is most unusual: probability over the usual rate."),
]
KindQuery = Annotated[
    Literal["repeats", "continues", "begins", "ends", "new"] | None, Query(description="Only this kind of events.")
]
ExplainQuery = Annotated[int, Query(ge=0, description="Pieces of evidence of each sort for each event.")]


class KnownFactOut(BaseModel):
    """A known fact."""

    subject: str = Field(description="Name of the subject.")
    relation: str = Field(description="Name of the relation.")
    object: str = Field(description="Name of the object.")
    time: str = Field(description="The time step, as a sortable date or a number.")
    date: str = Field(description="The time step, for readers.")


class PastEventsOut(BaseModel):
    """The latest known facts, latest first."""

    facts: list[KnownFactOut] = Field(description="The facts.")


class EventRecordOut(BaseModel):
    """Evaluations of the event forecasts, as ``titer evaluate --events`` recorded them."""

    evaluations: list[dict[str, Any]] = Field(description="Metrics, each with its split and horizon.")


def add_event_routes(app: FastAPI, settings: Settings) -> None:
    """Add the routes about events to an app."""

    def check(top: int, explain: int) -> None:
        check_limits(
            ("top", top, settings.max_answers if explain else MAX_EVENTS),
            ("explain", explain, settings.max_evidence),
            ("top × explain", top * explain, settings.max_explained),
        )

    @app.get("/v1/events", summary="List the most likely events of the next time steps")
    async def events(
        current: Current,
        subject: SubjectFilter = None,
        relation: RelationFilter = None,
        object: ObjectFilter = None,
        entity: EntityFilter = None,
        start: FromQuery = None,
        within: WithinQuery = "1",
        top: Annotated[int, Query(ge=1, description="Number of events.")] = 50,
        sort: SortQuery = "probability",
        kind: KindQuery = None,
        explain: ExplainQuery = 0,
    ) -> EventForecast:
        check(top, explain)

        def work() -> EventForecast:
            return current.forecaster.events(
                subject, relation, object, entity=entity, start=start, within=within, top=top, sort=sort, kind=kind,
                explain=explain,
            )  # fmt: skip

        return await current.batcher.alone(work)

    @app.get(
        "/v1/likely",
        summary="Estimate how likely an event is in a window of time steps, or whether a fact that holds still does",
    )
    async def likely(
        current: Current,
        subject: NameQuery,
        relation: NameQuery,
        object: NameQuery,
        start: FromQuery = None,
        within: WithinQuery = "1",
        explain: ExplainQuery = 0,
    ) -> Likelihood:
        check(1, explain)
        names = (subject, relation, object)
        return await current.batcher.alone(
            lambda: current.forecaster.likely(*names, within, start=start, explain=explain)
        )

    @app.get("/v1/when", summary="Forecast when an event happens next, or when a fact that holds ends")
    async def when(
        current: Current,
        subject: NameQuery,
        relation: NameQuery,
        object: NameQuery,
        start: FromQuery = None,
        explain: ExplainQuery = 0,
    ) -> WhenForecast:
        check(1, explain)
        names = (subject, relation, object)
        return await current.batcher.alone(lambda: current.forecaster.when(*names, start=start, explain=explain))

    @app.get("/v1/past-events", summary="List the latest known facts")
    async def past_events(
        current: Current,
        entity: EntityFilter = None,
        relation: RelationFilter = None,
        limit: Annotated[int, Query(ge=1, le=MAX_PAST, description="Number of facts at most.")] = 50,
    ) -> PastEventsOut:
        def work() -> PastEventsOut:
            facts = current.forecaster.latest_facts(entity, relation, limit)
            names = ("subject", "relation", "object", "time", "date")
            return PastEventsOut(facts=[KnownFactOut(**{name: getattr(one, name) for name in names}) for one in facts])

        return await asyncio.to_thread(work)

    @app.get("/v1/events/record", summary="Return how good the event forecasts were")
    async def record(current: Current) -> EventRecordOut:
        _, evaluations = await asyncio.to_thread(current.evaluations)
        return EventRecordOut(evaluations=evaluations)
