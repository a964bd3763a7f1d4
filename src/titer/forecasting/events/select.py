"""Which candidates a question about events is about."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.events.answers import score_pairs
from titer.events.event_list import EventList
from titer.events.index import EventIndex
from titer.events.model import EventModel, still_holds
from titer.events.new_facts import NewFacts, describe_new
from titer.events.origin import (
    Origin,
    directed_pairs,
    estimate,
    is_forward,
    new_candidates,
    without_known,
)
from titer.events.triples import Triples
from titer.forecasting.events.windows import Window
from titer.forecasting.predictor import Predictor

MAX_PAIRS = 32
"""Pairs of a filter whose answers are scored for facts that never occurred."""
LASTING = 0.5
"""Relations whose facts still hold one step later at least this often are lasting."""


@dataclass(frozen=True)
class Selection:
    """Ids that events must have; None for any."""

    subject: int | None = None
    relation: int | None = None
    object: int | None = None
    entity: int | None = None

    def matches(self, triples: Triples) -> Tensor:
        """Return which triples match. (triples,)"""
        found = torch.ones_like(triples.subject, dtype=torch.bool)
        for wanted, column in (
            (self.subject, triples.subject),
            (self.relation, triples.relation),
            (self.object, triples.object),
        ):
            if wanted is not None:
                found &= column == wanted
        if self.entity is not None:
            found &= (triples.subject == self.entity) | (triples.object == self.entity)
        return found

    def pairs(self, index: EventIndex, origin: Origin) -> Tensor:
        """Return the directed pairs whose new facts match: of the subject, or of the object if only that is given."""
        directed = 2 * index.num_relations
        entity, relation = origin.pair // directed, origin.pair % directed
        forward = is_forward(index, origin)
        found = torch.ones_like(forward)
        if self.relation is not None:
            found &= relation % index.num_relations == self.relation
        if self.entity is not None:
            return found & (entity == self.entity)
        if self.subject is None and self.object is not None:
            return found & ~forward & (entity == self.object)
        return found & forward & (entity == self.subject if self.subject is not None else True)


@torch.inference_mode()
def forecast_events(
    predictor: Predictor, events: EventModel, window: Window, selection: Selection
) -> tuple[EventList, Tensor, float]:
    """Return the matching candidates of a window, which of them held one step before it, and the expected unlisted."""
    index = events.indexed(predictor.history).index
    origin = events.origin(predictor.model, predictor.history, window.origin)
    device = origin.pair.device
    matching = selection.matches(Triples.concatenate(origin.repeated, origin.new.triples))
    rows = None if selection == Selection() else matching.nonzero()[:, 0]
    listed = events.forecast(index, origin, window.first, window.last, rows)
    more = _more_new(predictor, events, index, origin, window, selection)
    listed = _joined(listed, more) if more is not None and len(more) else listed
    holds = torch.zeros(len(listed), dtype=torch.bool, device=device)
    repeated = listed.repeated.nonzero()[:, 0]
    ages = index.by_triple.state_of(index.key(listed.triples[repeated]), torch.full_like(repeated, origin.elapsed)).age
    lasting = events.lasting[listed.triples.relation] >= LASTING
    holds[repeated] = ages == 1
    return listed, holds & lasting, _unlisted(events, index, origin, window, selection, listed)


def _unlisted(
    events: EventModel, index: EventIndex, origin: Origin, window: Window, selection: Selection, listed: EventList
) -> float:
    """Return the expected number of new facts that match and are not among the candidates."""
    if selection.subject is not None and selection.object is not None:
        return 0.0
    mass = events.expected_new(origin, selection.pairs(index, origin), window.first, window.last)
    return max(mass - float(listed.probability[~listed.repeated].sum()), 0.0)


def _more_new(
    predictor: Predictor, events: EventModel, index: EventIndex, origin: Origin, window: Window, selection: Selection
) -> EventList | None:
    """Return new facts of the selected entity that are not among the candidates of all."""
    if all(value is None for value in (selection.subject, selection.object, selection.entity)):
        return None
    chosen = selection.pairs(index, origin).nonzero()[:, 0]
    best = origin.novelty[chosen].topk(min(MAX_PAIRS, len(chosen))).indices
    scored = score_pairs(predictor.model, predictor.history, origin.pair[chosen[best]], window.origin)
    answers = without_known(scored, origin, index)
    new = new_candidates(answers, origin, index, events.config.new_per_query)
    unlisted = ~torch.isin(index.key(new), index.key(origin.new.triples))
    new = new[(selection.matches(new) & unlisted).nonzero()[:, 0]]
    estimates = estimate(origin, index, new, origin.novelty, answers)
    described = describe_new(events.intensity_networks, origin.table, new, estimates)
    at, by, expected = events.new_curves(origin, described, window.first, window.last)
    none = torch.zeros(len(new), device=origin.pair.device)
    return EventList(new, none.bool(), none, by[-1], expected, still_holds(at)[-1], 0.0)


@dataclass(frozen=True)
class OneEvent:
    """One event in a window, step by step."""

    listed: EventList  # with this event alone
    holds: Tensor  # (1,) whether it is a lasting fact that held one step before the window
    at: list[float]  # probability in each step
    by: list[float]  # probability of having happened by the end of each step; if it holds, of having ended


@torch.inference_mode()
def forecast_one(
    predictor: Predictor, events: EventModel, window: Window, subject: int, relation: int, object: int
) -> OneEvent:
    """Return the probabilities of one event in each step of a window."""
    index = events.indexed(predictor.history).index
    origin = events.origin(predictor.model, predictor.history, window.origin)
    triple = Triples(*(origin.pair.new_tensor([value]) for value in (subject, relation, object)))
    key = index.key(triple)
    known = (index.key(origin.repeated) == key).nonzero()[:, 0]
    if len(known):
        at, by, expected = events.curves(origin, known, window.first, window.last)
        number, age = origin.fact.number[known], origin.fact.age[known]
    else:
        new = _new_fact(predictor, events, index, origin, triple, window)
        at, by, expected = events.new_curves(origin, new, window.first, window.last)
        number, age = torch.zeros_like(expected), torch.zeros_like(key)
    lasts = events.lasting[triple.relation] >= LASTING
    holds, still = lasts & (age == 1), still_holds(at)
    listed = EventList(triple, number > 0, number, by[-1], expected, still[-1], 0.0)
    reached = [1 - p for p in still] if bool(holds) else by
    return OneEvent(listed, holds, [float(p) for p in at], [float(p) for p in reached])


def _new_fact(
    predictor: Predictor, events: EventModel, index: EventIndex, origin: Origin, triple: Triples, window: Window
) -> NewFacts:
    """Return one fact that never occurred; the same as in a list of events."""
    listed = (index.key(origin.new.triples) == index.key(triple)).nonzero()[:, 0]
    if len(listed):
        return origin.new[listed]
    pairs = torch.cat(directed_pairs(index, triple))
    scored = score_pairs(predictor.model, predictor.history, pairs, window.origin)
    answers = without_known(scored, origin, index)
    estimates = estimate(origin, index, triple, origin.novelty, answers)
    return describe_new(events.intensity_networks, origin.table, triple, estimates)


def _joined(first: EventList, second: EventList) -> EventList:
    columns = ("repeated", "number", "probability", "expected", "still_holds")
    return EventList(
        Triples.concatenate(first.triples, second.triples),
        *(torch.cat([getattr(first, name), getattr(second, name)]) for name in columns),
        unlisted=first.unlisted,
    )
