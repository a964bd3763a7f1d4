"""The same question in a history with a fact taken out or put in, and what that moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError, UnknownFactError
from titer.forecasting.fact_input import AnyFact, FactInput, suggest_facts
from titer.forecasting.forecast import DatedFact, Forecast
from titer.forecasting.names import simplified
from titer.forecasting.question import Question
from titer.forecasting.scoring import Scored
from titer.graph.history import History
from titer.models.evidence import Edge

if TYPE_CHECKING:
    from titer.forecasting.forecaster import Forecaster

__all__ = ["AnyFact", "Change", "Move", "WhatIf", "compare"]


@dataclass(frozen=True)
class Move:
    """Where an answer stood before a change, and where it stands after it."""

    entity: str
    rank_before: int | None
    """None where nothing speaks for the answer."""
    rank_after: int | None
    probability_before: float
    probability_after: float

    @property
    def moved(self) -> bool:
        """Whether there is any difference."""
        return (self.rank_before, self.probability_before) != (self.rank_after, self.probability_after)


@dataclass(frozen=True)
class WhatIf:
    """The answers to a question before and after a change of history."""

    before: Forecast
    after: Forecast
    without: tuple[DatedFact, ...]
    """What was taken out."""
    with_: tuple[DatedFact, ...]
    """What was put in."""
    new_entities: tuple[str, ...]
    """Names in what was put in that nobody had before."""
    moves: tuple[Move, ...]
    """Every answer that is among the best before or after, in its new order."""

    def __str__(self) -> str:
        from titer.forecasting.wording.render import what_if_as_text

        return what_if_as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "without": [fact.to_dict() for fact in self.without],
            "with": [fact.to_dict() for fact in self.with_],
            "new_entities": list(self.new_entities),
            "moves": [dict(vars(move)) for move in self.moves],
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }


@dataclass(frozen=True)
class Change:
    """Two histories that know the same names: as things are, and with some facts taken out and put in."""

    before: History
    after: History
    without: tuple[Edge, ...]
    with_: tuple[Edge, ...]
    new_entities: tuple[str, ...]

    @classmethod
    def of(cls, forecaster: "Forecaster", time: int, without: Sequence[AnyFact], with_: Sequence[AnyFact]) -> "Change":
        """Read the facts, all of which must be before a time; what is taken out must be there, and may come back."""
        out = tuple(_known(forecaster, FactInput.of(fact), time) for fact in without)
        after = forecaster.history.without(Facts.from_rows(list(out)))
        new: list[str] = []
        put = tuple(_imagined(forecaster, FactInput.of(fact), time, new) for fact in with_)
        for edge in put:
            if edge.subject < forecaster.vocabulary.num_entities and holds(after, edge):
                line = forecaster.on(after).dated(edge, time).line
                raise TiterError(f"{line} is already known; putting it in would change nothing")
        vocabulary = forecaster.vocabulary
        if new:
            vocabulary = Vocabulary([*vocabulary.entities, *new], vocabulary.relations)
        before = forecaster.history.including(Facts.empty(), vocabulary) if new else forecaster.history
        # A fact that is given twice still happened once.
        if put:
            after = after.including(Facts.from_rows(list(dict.fromkeys(put))), vocabulary)
        return cls(before, after, out, put, tuple(new))


def compare(forecaster: "Forecaster", question: Question, change: Change, top: int, explain: int) -> WhatIf:
    """Ask before and after a change."""
    if top < 1:
        raise TiterError(f"at least one answer must be asked for, not {top}")
    sides = forecaster.on(change.before), forecaster.on(change.after)
    # Both sides know the same names, so whoever is put in may be asked about.
    asked = sides[0].in_ids(question)
    scored = [side.score([asked]) for side in sides]
    forecasts = [side.forecasts([asked], one, top, explain)[0] for side, one in zip(sides, scored, strict=True)]
    ids = change.before.vocabulary.entity_ids
    shown = dict.fromkeys(answer.entity for forecast in reversed(forecasts) for answer in forecast.answers)
    moves = [_move(name, ids[name], *scored) for name in shown]
    last = change.after.vocabulary.num_entities + 1
    moves.sort(key=lambda move: (move.rank_after or last, move.rank_before or last))
    return WhatIf(
        before=forecasts[0],
        after=forecasts[1],
        without=tuple(sides[1].dated(edge, asked.time) for edge in change.without),
        with_=tuple(sides[1].dated(edge, asked.time) for edge in change.with_),
        new_entities=change.new_entities,
        moves=tuple(moves),
    )


def _move(name: str, entity: int, before: Scored, after: Scored) -> Move:
    ranks = before.rank(0, entity), after.rank(0, entity)
    return Move(name, *ranks, float(before.probabilities[0, entity]), float(after.probabilities[0, entity]))


def holds(history: History, fact: Edge) -> bool:
    """Whether a history has a fact."""
    subject, end = (torch.tensor([value], device=history.device) for value in (fact.subject, fact.time + 1))
    edges = history.all_before(subject, end)
    return bool(((edges.relation == fact.relation) & (edges.object == fact.object) & (edges.time == fact.time)).any())


def _known(forecaster: "Forecaster", given: FactInput, time: int) -> Edge:
    """A fact to be taken out, which must be there."""
    edge = Edge(
        forecaster.entities.find(given.subject),
        forecaster.relations.find(given.relation),
        forecaster.entities.find(given.object),
        forecaster.axis.step(given.time),
    )
    if not holds(forecaster.history, edge):
        raise UnknownFactError(f"there is no fact {given}", suggest_facts(forecaster, edge, time))
    _check_is_before(forecaster, given, edge.time, time)
    return edge


def _imagined(forecaster: "Forecaster", given: FactInput, time: int, new: list[str]) -> Edge:
    """A fact to be put in; names that nobody has are added to ``new``."""
    step = forecaster.axis.step(given.time)
    _check_is_before(forecaster, given, step, time)

    def entity(name: str) -> int:
        known = forecaster.entities.known(name)
        if known is not None:
            return known
        same = [i for i, other in enumerate(new) if simplified(other) == simplified(name)]
        if not same:
            new.append(name)
        return forecaster.vocabulary.num_entities + (same[0] if same else len(new) - 1)

    return Edge(entity(given.subject), forecaster.relations.find(given.relation), entity(given.object), step)


def _check_is_before(forecaster: "Forecaster", given: FactInput, step: int, time: int) -> None:
    if step >= time:
        asked = forecaster.axis.words(time)
        raise TiterError(f"{given}: only facts before the question's time, {asked}, have a part in its answer")
