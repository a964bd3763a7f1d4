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
    time: When

    @classmethod
    def of(cls, fact: "AnyFact") -> "FactInput":
        """Read a fact as a user gives it.

        Args:
            fact: The text ``"SUBJECT | RELATION | OBJECT | DATE"`` or a CSV row, the four parts, or a fact of evidence.

        Raises:
            TiterError: If a part is missing.
        """
        if isinstance(fact, PastFact):
            return cls(fact.subject, fact.relation, fact.object, fact.time)
        if isinstance(fact, FactInput):
            return fact
        parts = _parts(fact) if isinstance(fact, str) else fact
        if len(parts) != 4:
            raise TiterError(f"{fact!r} is not a fact; {FORMS}")
        subject, relation, object = (str(part).strip() for part in parts[:3])
        time = parts[3].strip() if isinstance(parts[3], str) else parts[3]
        if "" in (subject, relation, object, time) or "?" in (subject, relation, object):
            raise TiterError(f"{fact!r} is not a complete fact; {FORMS}")
        return cls(subject, relation, object, time)

    def __str__(self) -> str:
        return f"{self.subject} | {self.relation} | {self.object} | {self.time}"


AnyFact = str | PastFact | FactInput | tuple[str, str, str, When]
"""A fact in any form that ``what_if`` accepts."""


def _parts(text: str) -> list[str]:
    """Split a fact into its parts; names that contain ``|`` can be given as CSV."""
    parts = text.split("|")
    if len(parts) == 4:
        return parts
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return []
