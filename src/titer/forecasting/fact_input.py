"""Facts as a user writes them."""

import csv
from dataclasses import dataclass

from titer.errors import TiterError
from titer.forecasting.forecast import PastFact
from titer.forecasting.question import When

FORMS = 'write it as "SUBJECT | RELATION | OBJECT | DATE", or as four fields of a CSV row'


@dataclass(frozen=True)
class FactInput:
    """A fact in names, as it was written."""

    subject: str
    relation: str
    object: str
    time: When | None = None
    """When; None means all such facts, which only a what-if can leave out."""

    @classmethod
    def of(cls, fact: "AnyFact") -> "FactInput":
        """Read a fact from text, from its four parts, or from a piece of evidence.

        Args:
            fact: Text such as ``"Nigeria | Consult | Muhammadu Buhari | 2018-10-01"``, a tuple (subject, relation,
                object, time), or a past fact of a reason. Without a time, all such facts are meant.

        Returns:
            The fact in names; whether they exist is not checked.

        Raises:
            TiterError: The fact is incomplete.
        """
        if isinstance(fact, PastFact):
            return cls(fact.subject, fact.relation, fact.object, fact.time)
        if isinstance(fact, FactInput):
            return fact
        parts = _parts(fact) if isinstance(fact, str) else fact
        if len(parts) not in (3, 4):
            raise TiterError(f"{fact!r} is not a fact; {FORMS}")
        subject, relation, object = (str(part).strip() for part in parts[:3])
        time = parts[3] if len(parts) == 4 else None
        time = time.strip() if isinstance(time, str) else time
        if "" in (subject, relation, object, time) or "?" in (subject, relation, object):
            raise TiterError(f"{fact!r} is not a complete fact; {FORMS}")
        return cls(subject, relation, object, time)

    def __str__(self) -> str:
        time = "" if self.time is None else f" | {self.time}"
        return f"{self.subject} | {self.relation} | {self.object}{time}"


AnyFact = str | PastFact | FactInput | tuple[str, str, str, When] | tuple[str, str, str]
"""A fact in any form that ``what_if`` accepts."""


def _parts(text: str) -> list[str]:
    """Split a fact into its parts; names that contain ``|`` can be given as CSV."""
    parts = text.split("|")
    if len(parts) in (3, 4):
        return parts
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return []
