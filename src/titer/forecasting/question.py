"""Questions in words."""

from dataclasses import dataclass
from datetime import date

When = str | int | date
"""A date as in the data, or a number where the data counts time in numbers."""


@dataclass(frozen=True)
class Question:
    """A question about one time step.

    (subject, relation, ?) asks for the object, (?, relation, object) for the subject.
    Exactly one of ``subject`` and ``object`` is given; the other is None or ``"?"``.

    Attributes:
        subject: Name of the subject, or None to ask for it.
        relation: Name of the relation.
        object: Name of the object, or None to ask for it.
        at: The time step the question is about. None means the step after the last known fact.
    """

    subject: str | None
    relation: str
    object: str | None = None
    at: When | None = None

    def __post_init__(self) -> None:
        for name in ("subject", "object"):
            if getattr(self, name) == "?":
                object.__setattr__(self, name, None)

    def __str__(self) -> str:
        time = "" if self.at is None else f", {self.at}"
        return f"{self.subject or '?'} — {self.relation} — {self.object or '?'}{time}"
