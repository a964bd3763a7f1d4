"""What is asked, in the words of whoever asks."""

from dataclasses import dataclass
from datetime import date

When = str | int | date
"""A date as in the data, or a number where the data counts time in numbers."""


@dataclass(frozen=True)
class Question:
    """The objects of (subject, relation, ?), or the subjects of (?, relation, object), at a time.

    What is asked for is None or ``"?"``. Without a time it is about the step after the last known fact.
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
