"""Evidence for an answer: paths of past facts, with their shares of the answer's weight."""

from dataclasses import dataclass
from typing import NamedTuple

from titer.data.vocabulary import Vocabulary

STAYED = "the query's own subject, without a hop"
"""Note of the evidence for walks, or attention, that never leave the subject."""


class Edge(NamedTuple):
    """A past fact as one hop of a path, from ``subject`` to ``object``.

    A path may use a fact against its direction. Then ``relation`` is the inverse of the fact's relation, and subject
    and object are swapped.

    Attributes:
        subject: Id of the entity at which the hop begins.
        relation: Id of the directed relation: a relation, or the inverse of one.
        object: Id of the entity at which the hop ends.
        time: Time step of the fact.
    """

    subject: int
    relation: int
    object: int
    time: int

    def forward(self, vocabulary: Vocabulary) -> "Edge":
        """Return the fact in its own direction, as the dataset has it.

        Args:
            vocabulary: The vocabulary that the ids belong to.

        Returns:
            This edge, or the reversed edge if its relation is an inverse.
        """
        if not vocabulary.is_inverse(self.relation):
            return self
        return Edge(self.object, vocabulary.inverse(self.relation), self.subject, self.time)


@dataclass(frozen=True)
class Evidence:
    """One reason for the score of an answer: a path of past facts, and its share of the answer's weight.

    Attributes:
        path: The hops from the subject of the query to the answer, each of a fact before the time of the query. Empty
            if the share does not come from a path.
        share: Share of the answer's weight, before the temperature is applied, between 0 and 1; see ``Model.explain``.
        note: Where the share comes from, if there is no path; with a path, the rule that it follows, if there is one.
        numbers: For each hop, what the model computed for it, by name (for example its probability). Empty if the model
            has nothing to report. Forecasts show them in text, JSON and pages.
        count: Number of paths that this evidence represents. They differ in their times only, and ``path`` is the
            latest of them.
    """

    path: tuple[Edge, ...]
    share: float
    note: str = ""
    numbers: tuple[dict[str, float], ...] = ()
    count: int = 1

    def __post_init__(self) -> None:
        if self.numbers and len(self.numbers) != len(self.path):
            raise ValueError(f"evidence with {len(self.path)} hops has numbers for {len(self.numbers)}")

    @property
    def hops(self) -> tuple[tuple[Edge, dict[str, float]], ...]:
        """The hops of the path, each with its numbers."""
        return tuple(zip(self.path, self.numbers or [{}] * len(self.path), strict=True))
