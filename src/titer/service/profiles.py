"""What is known about an entity or a relation: how often it occurs, with whom, and when."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from pydantic import BaseModel, Field
from torch import Tensor

from titer.data.time_axis import TimeAxis
from titer.forecasting.events.select import LASTING
from titer.forecasting.forecaster import Forecaster
from titer.graph.history import History
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

MAX_BARS = 60
"""Bars of a timeline at most; each covers the same number of time steps."""


class CountedName(BaseModel):
    """A name, and in how many facts it occurs."""

    name: str = Field(description="The name.")
    facts: int = Field(description="Number of facts.")


class CountedPair(BaseModel):
    """Two entities, and how many facts have them as subject and object."""

    subject: str = Field(description="Name of the subject.")
    object: str = Field(description="Name of the object.")
    facts: int = Field(description="Number of facts.")


class Bar(BaseModel):
    """Facts in some consecutive time steps."""

    start: str = Field(description="The first time step, as a sortable date or a number.")
    date: str = Field(description="The first time step, for readers.")
    facts: int = Field(description="Number of facts.")


class Profile(BaseModel):
    """How often something occurs, and when."""

    name: str = Field(description="The name.")
    facts: int = Field(description="Number of facts.")
    first: str | None = Field(description="Date of the first fact, for readers; null without facts.")
    last: str | None = Field(description="Date of the last fact, for readers; null without facts.")
    each: str = Field(description="Duration of each bar of the timeline, in words.")
    last_bar: str = Field(description="Duration of the last bar, in words; the data may end within it.")
    timeline: list[Bar] = Field(description="Facts over the whole time of the data, in order.")


class EntityOut(Profile):
    """The past of an entity."""

    partners: list[CountedName] = Field(description="Entities with which it has most facts, as subject or object.")
    does: list[CountedName] = Field(description="Relations of which it is the subject, most frequent first.")
    receives: list[CountedName] = Field(description="Relations of which it is the object, most frequent first.")


class RelationOut(Profile):
    """The past of a relation."""

    subjects: list[CountedName] = Field(description="The most frequent subjects.")
    objects: list[CountedName] = Field(description="The most frequent objects.")
    pairs: list[CountedPair] = Field(description="The most frequent subjects and objects together.")


@dataclass(frozen=True)
class KnownFacts:
    """All facts of a history as columns, each fact once."""

    history: History

    @cached_property
    def columns(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Subject, relation, object, and time steps since the first fact; each of shape ``(facts,)``."""
        key, relation, object = (
            column[:-1] for column in (self.history.key, self.history.relation, self.history.object)
        )
        rows = relation < self.history.vocabulary.num_relations
        return (key >> TIME_BITS)[rows], relation[rows], object[rows], (key & LAST_STEP)[rows]

    @cached_property
    def entity_counts(self) -> Tensor:
        """Number of facts of each entity, as subject or object."""
        subject, _, object, _ = self.columns
        size = self.history.vocabulary.num_entities
        both = torch.bincount(subject, minlength=size) + torch.bincount(object, minlength=size)
        return both - torch.bincount(subject[subject == object], minlength=size)

    @cached_property
    def relation_counts(self) -> Tensor:
        """Number of facts of each relation."""
        return torch.bincount(self.columns[1], minlength=self.history.vocabulary.num_relations)

    @cached_property
    def counts_of_entities(self) -> list[int]:
        """``entity_counts`` as a list, for look-ups by name."""
        return self.entity_counts.tolist()

    @cached_property
    def counts_of_relations(self) -> list[int]:
        """``relation_counts`` as a list, for look-ups by name."""
        return self.relation_counts.tolist()

    @cached_property
    def lasting(self) -> bool:
        """Whether at least half of the facts of some relation still hold one step later."""
        subject, relation, object, elapsed = self.columns
        size = self.history.vocabulary.num_entities
        _, triple = torch.unique(
            (subject * self.history.vocabulary.num_relations + relation) * size + object, return_inverse=True
        )
        key = (triple << TIME_BITS) + elapsed
        inside = elapsed < (int(elapsed.max()) if len(elapsed) else 0)
        again = torch.isin(key + 1, key) & inside
        number = self.history.vocabulary.num_relations
        total, held = (torch.bincount(relation[rows], minlength=number) for rows in (inside, again))
        return bool(((total > 0) & (held >= LASTING * total)).any())

    def of_entity(self, entity: int, axis: TimeAxis, limit: int) -> EntityOut:
        """Return the past of an entity, with lists of at most ``limit`` names."""
        subject, relation, object, elapsed = self.columns
        does, receives = subject == entity, object == entity
        entities, relations = self.history.vocabulary.entities, self.history.vocabulary.relations
        others = torch.cat([object[does], subject[receives]])
        return EntityOut(
            **self._profile(entities[entity], elapsed[does | receives], axis),
            partners=_most(others[others != entity], entities, limit),
            does=_most(relation[does], relations, limit),
            receives=_most(relation[receives], relations, limit),
        )

    def of_relation(self, wanted: int, axis: TimeAxis, limit: int) -> RelationOut:
        """Return the past of a relation, with lists of at most ``limit`` names."""
        subject, relation, object, elapsed = self.columns
        rows = relation == wanted
        subject, object = subject[rows], object[rows]
        entities = self.history.vocabulary.entities
        pair, times = torch.unique(subject * len(entities) + object, return_counts=True)
        best = torch.sort(times, descending=True, stable=True).indices[:limit]
        return RelationOut(
            **self._profile(self.history.vocabulary.relations[wanted], elapsed[rows], axis),
            subjects=_most(subject, entities, limit),
            objects=_most(object, entities, limit),
            pairs=[
                CountedPair(subject=entities[both // len(entities)], object=entities[both % len(entities)], facts=count)
                for both, count in zip(pair[best].tolist(), times[best].tolist(), strict=True)
            ],
        )

    def _profile(self, name: str, elapsed: Tensor, axis: TimeAxis) -> dict[str, Any]:
        origin, all_elapsed = self.history.first_time, self.columns[3]
        span = int(all_elapsed.max()) + 1 if len(all_elapsed) else 1
        steps = -(-span // MAX_BARS)
        bars = torch.bincount(elapsed // steps, minlength=-(-span // steps)).tolist()
        found = len(elapsed) > 0
        return {
            "name": name,
            "facts": len(elapsed),
            "first": axis.words(origin + int(elapsed.min())) if found else None,
            "last": axis.words(origin + int(elapsed.max())) if found else None,
            "each": axis.duration(steps),
            "last_bar": axis.duration(span - (len(bars) - 1) * steps),
            "timeline": [
                Bar(start=axis.label(step), date=axis.words(step), facts=count)
                for step, count in zip(range(origin, origin + span, steps), bars, strict=True)
            ],
        }


class Profiles:
    """The known facts of a forecaster as columns, computed again when facts were added."""

    def __init__(self, forecaster: Forecaster):
        self.forecaster = forecaster
        self._facts: KnownFacts | None = None

    def current(self) -> KnownFacts:
        """Return all facts that are stored now."""
        self.forecaster.refresh()
        facts, history = self._facts, self.forecaster.history
        if facts is None or facts.history is not history:
            self._facts = facts = KnownFacts(history)
        return facts


def _most(ids: Tensor, names: list[str], limit: int) -> list[CountedName]:
    """Return the most frequent names; those with equal counts in the order of the vocabulary."""
    distinct, times = torch.unique(ids, return_counts=True)
    best = torch.sort(times, descending=True, stable=True).indices[:limit]
    return [
        CountedName(name=names[one], facts=count)
        for one, count in zip(distinct[best].tolist(), times[best].tolist(), strict=True)
    ]
