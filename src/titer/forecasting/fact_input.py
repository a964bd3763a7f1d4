"""Facts as people give them."""

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from titer.errors import TiterError
from titer.forecasting.forecast import DatedFact
from titer.forecasting.question import When
from titer.models.evidence import Edge

if TYPE_CHECKING:
    from titer.forecasting.forecaster import Forecaster

FORMS = 'write it as "SUBJECT | RELATION | OBJECT | DATE", or as the four fields of a row of CSV'
MAX_SUGGESTIONS = 5


@dataclass(frozen=True)
class FactInput:
    """A fact in words."""

    subject: str
    relation: str
    object: str
    time: When

    @classmethod
    def of(cls, fact: "AnyFact") -> "FactInput":
        """From text, from four parts, or from the fact of a piece of evidence."""
        if isinstance(fact, DatedFact):
            return cls(fact.subject, fact.relation, fact.object, fact.time)
        if isinstance(fact, FactInput):
            return fact
        parts = _parts(fact) if isinstance(fact, str) else fact
        if len(parts) != 4:
            raise TiterError(f"{fact!r} is no fact: {FORMS}")
        subject, relation, object = (str(part).strip() for part in parts[:3])
        time = parts[3].strip() if isinstance(parts[3], str) else parts[3]
        if "" in (subject, relation, object, time) or "?" in (subject, relation, object):
            raise TiterError(f"{fact!r} is no whole fact: {FORMS}")
        return cls(subject, relation, object, time)

    def __str__(self) -> str:
        return f"{self.subject} | {self.relation} | {self.object} | {self.time}"


AnyFact = str | DatedFact | FactInput | tuple[str, str, str, When]


def _parts(text: str) -> list[str]:
    """The parts of a fact; names that contain | can be given as CSV."""
    parts = text.split("|")
    if len(parts) == 4:
        return parts
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return []


def suggest_facts(forecaster: "Forecaster", wanted: Edge, before: int) -> list[str]:
    """Facts before a time that come closest to one that is not there: the same at other times, then others alike."""
    history = forecaster.history
    subject, end = (torch.tensor([value], device=history.device) for value in (wanted.subject, before))
    edges = history.all_before(subject, end)
    rows = zip(*(column.tolist() for column in (edges.relation, edges.object, edges.time)), strict=True)
    close = [
        ((relation != wanted.relation) + 2 * (object != wanted.object), abs(time - wanted.time), time, relation, object)
        for relation, object, time in rows
        if object == wanted.object or (relation == wanted.relation and time == wanted.time)
    ]
    lines = (
        forecaster.dated(Edge(wanted.subject, relation, object, time), time).line
        for _, _, time, relation, object in sorted(close)
    )
    return list(dict.fromkeys(lines))[:MAX_SUGGESTIONS]
