"""Routes to explore the known facts: names with counts, entities and relations."""

import asyncio
from typing import Annotated, Literal

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from titer.forecasting.past_windows import useful_windows
from titer.service.profiles import CountedName, EntityOut, Profiles, RelationOut
from titer.service.schemas import LimitQuery, NameQuery, PrefixQuery
from titer.service.serving import Current
from titer.service.settings import Settings


class CountedNamesOut(BaseModel):
    """Names that complete a text."""

    names: list[CountedName] = Field(description="The names, frequent ones first.")


class WindowChoice(BaseModel):
    """A length of a window."""

    steps: int = Field(description="The length in time steps.")
    words: str = Field(description="The length in words.")


class Example(BaseModel):
    """A frequent fact, to ask about."""

    subject: str = Field(description="Name of the subject.")
    relation: str = Field(description="Name of the relation.")
    object: str = Field(description="Name of the object.")


class OverviewOut(BaseModel):
    """What a client needs before its first question."""

    last: str = Field(description="Date of the last known fact, for readers.")
    next: str = Field(description="The step after it, as a date in the form of the data.")
    windows: list[WindowChoice] = Field(description="Useful lengths of a window, in words.")
    entities: list[CountedName] = Field(description="The most frequent entities.")
    relations: list[CountedName] = Field(description="The most frequent relations.")
    examples: list[Example] = Field(description="For frequent relations, their most frequent fact.")
    lasting: bool = Field(description="Whether facts last, so that events can also begin, continue and end.")
    read_only: bool = Field(description="Whether facts cannot be added, since the service has no token.")


def add_explore_routes(app: FastAPI, settings: Settings) -> None:
    """Add the routes about names, entities and relations to an app."""

    @app.get("/v1/overview", summary="Return the most frequent names, and questions to begin with")
    async def overview(current: Current, limit: LimitQuery = 8) -> OverviewOut:
        return await asyncio.to_thread(_overview, current.profiles, limit, read_only=settings.token is None)

    @app.get("/v1/names", summary="Complete a name, with the number of its facts")
    async def names(
        current: Current,
        kind: Annotated[Literal["entity", "relation"], Query(description="What the names are names of.")],
        q: PrefixQuery = "",
        limit: LimitQuery = 10,
    ) -> CountedNamesOut:
        return await asyncio.to_thread(_complete, current.profiles, kind, q, limit)

    @app.get("/v1/entity", summary="Return the past of an entity: timeline, partners and relations")
    async def entity(current: Current, name: NameQuery, limit: LimitQuery = 12) -> EntityOut:
        def work() -> EntityOut:
            facts, forecaster = current.profiles.current(), current.forecaster
            return facts.of_entity(forecaster.entities.find(name), forecaster.axis, limit)

        return await asyncio.to_thread(work)

    @app.get("/v1/relation", summary="Return the past of a relation: timeline, subjects and objects")
    async def relation(current: Current, name: NameQuery, limit: LimitQuery = 12) -> RelationOut:
        def work() -> RelationOut:
            facts, forecaster = current.profiles.current(), current.forecaster
            return facts.of_relation(forecaster.relations.find(name), forecaster.axis, limit)

        return await asyncio.to_thread(work)


def _complete(profiles: Profiles, kind: str, typed: str, limit: int) -> CountedNamesOut:
    facts = profiles.current()
    index = profiles.forecaster.entities if kind == "entity" else profiles.forecaster.relations
    counts = facts.counts_of_entities if kind == "entity" else facts.counts_of_relations
    if typed.strip():
        ids = [index.find(name) for name in index.completions(typed, limit, counts)]
    else:
        ids = sorted(range(len(counts)), key=lambda i: -counts[i])[:limit]
    return CountedNamesOut(names=[CountedName(name=index.names[i], facts=counts[i]) for i in ids])


def _overview(profiles: Profiles, limit: int, *, read_only: bool) -> OverviewOut:
    forecaster, axis = profiles.forecaster, profiles.forecaster.axis
    entities, relations = (_complete(profiles, kind, "", limit).names for kind in ("entity", "relation"))
    facts, last = profiles.current(), forecaster.last_time
    found = [facts.of_relation(forecaster.relations.find(one.name), axis, 1).pairs for one in relations[:4]]
    return OverviewOut(
        last=axis.words(last),
        next=axis.label(last + 1),
        windows=[WindowChoice(steps=steps, words=axis.duration(steps)) for steps in useful_windows(axis)],
        entities=entities,
        relations=relations,
        examples=[
            Example(subject=pairs[0].subject, relation=one.name, object=pairs[0].object)
            for one, pairs in zip(relations, found, strict=False)
            if pairs
        ],
        lasting=facts.lasting,
        read_only=read_only,
    )
