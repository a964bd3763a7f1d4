"""A history with some facts removed and others added."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError, UnknownFactError
from titer.forecasting.fact_input import FORMS, AnyFact, FactInput
from titer.forecasting.names import simplified
from titer.forecasting.predictor import Predictor
from titer.graph.history import History
from titer.models.evidence import Edge

MAX_SUGGESTIONS = 5


@dataclass(frozen=True)
class Change:
    """Two histories with the same vocabulary: the known one, and one with some facts removed and others added."""

    before: History
    after: History
    without: tuple["RemovedFacts", ...]
    with_: tuple[Edge, ...]
    new_entities: tuple[str, ...]

    @classmethod
    def of(cls, predictor: Predictor, time: int, without: Sequence[AnyFact], with_: Sequence[AnyFact]) -> "Change":
        """Read the facts to remove and to add.

        Args:
            predictor: The history to change, and its names.
            time: The time step of the question; all facts must be before it.
            without: Facts to remove. All must exist. A fact without a time means all such facts before the question.
            with_: Facts to add. A fact that was removed may be added again.
        """
        removed = tuple(_existing(predictor, FactInput.of(fact), time) for fact in without)
        # A fact that was given twice is removed once.
        edges = dict.fromkeys(edge for one in removed for edge in one.edges)
        after = predictor.history.without(Facts.from_rows(list(edges)))
        new: list[str] = []
        added = tuple(_hypothetical(predictor, FactInput.of(fact), time, new) for fact in with_)
        for edge in added:
            if edge.subject < predictor.vocabulary.num_entities and contains(after, edge):
                line = predictor.describe(edge, time).line
                raise TiterError(f"{line} is already known; adding it would change nothing")
        vocabulary = predictor.vocabulary
        if new:
            vocabulary = Vocabulary([*vocabulary.entities, *new], vocabulary.relations)
        before = predictor.history.including(Facts.empty(), vocabulary) if new else predictor.history
        if added:
            # A fact that is given twice is added once.
            after = after.including(Facts.from_rows(list(dict.fromkeys(added))), vocabulary)
        return cls(before, after, removed, added, tuple(new))


@dataclass(frozen=True)
class RemovedFacts:
    """Facts that are removed together: one, its whole term, or all with the same subject, relation and object."""

    latest: Edge
    edges: tuple[Edge, ...]
    is_all: bool = False


def contains(history: History, fact: Edge) -> bool:
    """Return whether a history contains a fact."""
    subject, end = (torch.tensor([value], device=history.device) for value in (fact.subject, fact.time + 1))
    edges = history.all_before(subject, end)
    return bool(((edges.relation == fact.relation) & (edges.object == fact.object) & (edges.time == fact.time)).any())


def similar_facts(predictor: Predictor, wanted: Edge, before: int) -> list[str]:
    """Return known facts similar to an unknown one: the same at other times first, then those with another relation."""
    history = predictor.history
    subject, end = (torch.tensor([value], device=history.device) for value in (wanted.subject, before))
    edges = history.all_before(subject, end)
    rows = zip(*(column.tolist() for column in (edges.relation, edges.object, edges.time)), strict=True)
    close = [
        ((relation != wanted.relation) + 2 * (object != wanted.object), abs(time - wanted.time), time, relation, object)
        for relation, object, time in rows
        if object == wanted.object or (relation == wanted.relation and time == wanted.time)
    ]
    lines = (
        predictor.describe(Edge(wanted.subject, relation, object, time), time).line
        for _, _, time, relation, object in sorted(close)
    )
    return list(dict.fromkeys(lines))[:MAX_SUGGESTIONS]


def _existing(predictor: Predictor, given: FactInput, time: int) -> RemovedFacts:
    """Return facts to remove; raise an error with suggestions if there are none."""
    edge = Edge(
        predictor.entities.find(given.subject),
        predictor.relations.find(given.relation),
        predictor.entities.find(given.object),
        time if given.time is None else predictor.axis.step(given.time),
    )
    if given.time is None:
        return _all_such(predictor, given, edge, time)
    if not contains(predictor.history, edge):
        raise UnknownFactError(f"there is no fact {given}", similar_facts(predictor, edge, time))
    _check_is_before(predictor, given, edge.time, time)
    # A fact that lasts is removed with its whole term.
    return RemovedFacts(edge, tuple(predictor.rows.whole(edge, predictor.history, time)))


def _all_such(predictor: Predictor, given: FactInput, wanted: Edge, time: int) -> RemovedFacts:
    """Return all facts with the same subject, relation and object before a time."""
    history = predictor.history
    subject, end = (torch.tensor([value], device=history.device) for value in (wanted.subject, time))
    edges = history.all_before(subject, end)
    times = edges.time[(edges.relation == wanted.relation) & (edges.object == wanted.object)]
    found = tuple(wanted._replace(time=step) for step in torch.unique(times).tolist())
    if not found:
        message = f"there is no fact {given} before {predictor.axis.words(time)}"
        raise UnknownFactError(message, similar_facts(predictor, wanted, time))
    return RemovedFacts(found[-1], found, is_all=True)


def _hypothetical(predictor: Predictor, given: FactInput, time: int, new: list[str]) -> Edge:
    """Return a fact to add; append the names of new entities to ``new``."""
    if given.time is None:
        raise TiterError(f"{given}: a fact to add needs a date; {FORMS}")
    step = predictor.axis.step(given.time)
    _check_is_before(predictor, given, step, time)

    def entity(name: str) -> int:
        known = predictor.entities.known(name)
        if known is not None:
            return known
        same = [i for i, other in enumerate(new) if simplified(other) == simplified(name)]
        if not same:
            new.append(name)
        return predictor.vocabulary.num_entities + (same[0] if same else len(new) - 1)

    return Edge(entity(given.subject), predictor.relations.find(given.relation), entity(given.object), step)


def _check_is_before(predictor: Predictor, given: FactInput, step: int, time: int) -> None:
    if step >= time:
        asked = predictor.axis.words(time)
        raise TiterError(f"{given}: only facts before the question's time, {asked}, can affect its answers")
