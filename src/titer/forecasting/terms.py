"""Facts as their imported rows had them: whole terms instead of single time steps, and attributes."""

from dataclasses import dataclass

import torch

from titer.data.dataset import Dataset
from titer.data.time_axis import TimeAxis
from titer.graph.history import History
from titer.models.evidence import Edge

Term = tuple[int, int]
"""First and last time step of a fact that lasts."""


@dataclass(frozen=True)
class ImportedRows:
    """What is known about the rows that facts were imported from.

    A term is a run of consecutive time steps with the same fact. Only steps before the question are looked at: when a
    term ends later is not known then.
    """

    dataset: Dataset | None = None

    @property
    def lasting(self) -> bool:
        """Whether facts were imported from intervals."""
        return self.dataset is not None and self.dataset.lasting

    @property
    def phrases(self) -> dict[str, str]:
        """The phrases of relations that were given with the import."""
        mapping = None if self.dataset is None else self.dataset.mapping
        return {} if mapping is None else mapping.phrases

    def terms(self, fact: Edge, history: History, before: int) -> list[Term]:
        """Return all terms of a fact before a time, earliest first; none if facts do not last.

        Args:
            fact: The fact, in its own direction. Its time is not used.
            history: The known facts.
            before: The time of the question.
        """
        if not self.lasting:
            return []
        subject, end = (torch.tensor([value], device=history.device) for value in (fact.subject, before))
        edges = history.all_before(subject, end)
        times = edges.time[(edges.relation == fact.relation) & (edges.object == fact.object)]
        found: list[Term] = []
        for time in torch.unique(times).tolist():
            if found and found[-1][1] == time - 1:
                found[-1] = (found[-1][0], time)
            else:
                found.append((time, time))
        return found

    def term_of(self, fact: Edge, history: History, before: int) -> Term | None:
        """Return the term that a fact is part of, or ``None`` if facts do not last."""
        return next((term for term in self.terms(fact, history, before) if term[0] <= fact.time <= term[1]), None)

    def whole(self, fact: Edge, history: History, before: int) -> list[Edge]:
        """Return all facts of the term that a fact is part of; the fact itself if facts do not last."""
        term = self.term_of(fact, history, before)
        return [fact] if term is None else [fact._replace(time=time) for time in range(term[0], term[1] + 1)]

    def attributes(self, fact: Edge) -> str:
        """Return the attributes of a fact in brackets, or nothing."""
        if self.dataset is None or self.dataset.attributes is None:
            return ""
        found = self.dataset.attributes.find(self.dataset.facts, (fact.subject, fact.relation, fact.object, fact.time))
        return f" ({'; '.join(f'{name}: {value}' for name, value in found.items())})" if found else ""

    def num_paths(self, path: tuple[Edge, ...], count: int, history: History, before: int) -> int:
        """Return how many paths differ only in their terms, where ``count`` differ only in their dates."""
        if not self.lasting or not path:
            return count
        total = 1
        for edge in path:
            total *= max(len(self.terms(edge.forward(history.vocabulary), history, before)), 1)
        return min(total, count)


def term_words(term: Term, asked: int, axis: TimeAxis) -> str:
    """Return a term in words: "from Oct 2022 to Jul 2024", or "since Oct 2022" if it has not ended before a time."""
    first, last = (axis.words(time) for time in term)
    return f"since {first}" if term[1] == asked - 1 else f"from {first} to {last}"
