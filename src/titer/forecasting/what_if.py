"""A question asked of the known history and of a changed one."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from titer.forecasting.changes import Change, RemovedFacts
from titer.forecasting.forecast import RESPONSE, Forecast, PastFact
from titer.forecasting.predictor import Predictor
from titer.forecasting.question import Question
from titer.forecasting.scoring import Scored


def _without_underscore(name: str) -> str:
    return name.rstrip("_")


@dataclass(frozen=True)
class Move:
    """Rank and probability of one answer before and after a change of the history."""

    entity: str
    """Name of the answer."""
    rank_before: int | None
    """Rank in the known history; None if no fact supports the answer."""
    rank_after: int | None
    """Rank in the changed history; None if no fact supports the answer."""
    probability_before: float
    """Probability in the known history."""
    probability_after: float
    """Probability in the changed history."""

    __pydantic_config__: ClassVar[dict[str, Any]] = RESPONSE

    @property
    def moved(self) -> bool:
        """Whether rank or probability changed."""
        return (self.rank_before, self.probability_before) != (self.rank_after, self.probability_after)


@dataclass(frozen=True)
class WhatIf:
    """The answers to a question before and after a change of the history."""

    without: tuple[PastFact, ...]
    """The facts that were removed."""
    with_: tuple[PastFact, ...]
    """The facts that were added. In JSON the key is ``with``."""
    new_entities: tuple[str, ...]
    """Entities of the added facts that did not exist before."""
    moves: tuple[Move, ...]
    """Every answer that is among the best before or after the change, in the order after it."""
    before: Forecast
    """The answers with the known history."""
    after: Forecast
    """The answers with the changed history."""

    # ``with`` is a keyword in Python, but not in JSON.
    __pydantic_config__: ClassVar[dict[str, Any]] = {**RESPONSE, "alias_generator": _without_underscore}

    def __str__(self) -> str:
        from titer.forecasting.wording.render import what_if_as_text

        return what_if_as_text(self)

    def _repr_html_(self) -> str:
        from titer.forecasting.wording.html import what_if_as_html

        return what_if_as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON."""
        return {
            "without": [fact.to_dict() for fact in self.without],
            "with": [fact.to_dict() for fact in self.with_],
            "new_entities": list(self.new_entities),
            "moves": [dict(vars(move)) for move in self.moves],
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
        }


def compare(predictor: Predictor, question: Question, change: Change, top: int, explain: int) -> WhatIf:
    """Answer a question before and after a change of the history."""
    # Both histories have the same vocabulary, so the question may be about an added entity.
    known = predictor.on(change.before)
    sides = known, known.on(change.after)
    encoded = known.encode(question)
    scored = [side.score([encoded]) for side in sides]
    before, after = (side.forecasts(one, top, explain)[0] for side, one in zip(sides, scored, strict=True))
    ids = change.before.vocabulary.entity_ids
    shown = dict.fromkeys(answer.entity for forecast in (after, before) for answer in forecast.answers)
    moves = [_move(name, ids[name], *scored) for name in shown]
    last = change.after.vocabulary.num_entities + 1
    moves.sort(key=lambda move: (move.rank_after or last, move.rank_before or last))
    return WhatIf(
        without=tuple(_described(sides[0], removed, encoded.time) for removed in change.without),
        with_=tuple(sides[1].describe(edge, encoded.time) for edge in change.with_),
        new_entities=change.new_entities,
        moves=tuple(moves),
        before=before,
        after=after,
    )


def _described(known: Predictor, removed: RemovedFacts, asked: int) -> PastFact:
    """Return removed facts in words; all such facts by the latest of them."""
    fact = known.describe(removed.latest, asked)
    if not removed.is_all or len(removed.edges) == 1:
        return fact
    return replace(fact, sentence=f"all {len(removed.edges):,} such facts, the latest of which: {fact.sentence}")


def _move(name: str, entity: int, before: Scored, after: Scored) -> Move:
    ranks = before.rank(0, entity), after.rank(0, entity)
    return Move(name, *ranks, before.one(0, entity)[1], after.one(0, entity)[1])
