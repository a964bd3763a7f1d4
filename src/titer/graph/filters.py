"""The true answers of queries, to exclude them from rankings."""

from collections.abc import Callable
from enum import StrEnum

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.queries import Queries
from titer.graph.ragged import spread
from titer.graph.sorting import changes

MAX_KEYS = 1 << 63
"""Combinations of subject, relation, time step and answer that an integer can number."""
PIECE = 1 << 20
"""Facts that are indexed together."""


class Filter(StrEnum):
    """Which other true answers are excluded when an answer is ranked."""

    TIME_AWARE = "time-aware"
    """Those that are true at the time of the query."""
    STATIC = "static"
    """Those that are true at any time."""
    RAW = "raw"
    """None."""


class TrueAnswers:
    """The true answers of every query, by (subject, relation, time), or by (subject, relation) for the static filter.

    Args:
        facts: All facts that count as true.
        vocabulary: The vocabulary of the facts.
        filter: Which facts make an answer true. With ``Filter.RAW``, no query has a true answer.
    """

    def __init__(self, facts: Facts, vocabulary: Vocabulary, filter: Filter = Filter.TIME_AWARE):
        self.filter = filter
        self.num_entities, self.num_relations = vocabulary.num_entities, vocabulary.num_directed_relations
        self.first_time = int(facts.time.min()) if len(facts) else 0
        self.num_steps = int(facts.time.max()) - self.first_time + 1 if len(facts) else 1
        self.pairs: Tensor | None = None
        self.keys: Tensor | None = None
        if filter is Filter.RAW:
            facts = facts[:0]
        # Pairs (subject, relation) and keys that occur are numbered if an integer could not number all possible ones.
        num_keys = self.num_entities * self.num_relations * self.num_steps
        if num_keys >= MAX_KEYS:
            pairs = torch.unique(self._of_pieces(facts, vocabulary, lambda queries, _: self._pair(queries)))
            self.pairs, num_keys = pairs, len(pairs) * self.num_steps
        if num_keys * self.num_entities >= MAX_KEYS:
            self.keys = torch.unique(self._of_pieces(facts, vocabulary, lambda queries, _: self._key(queries)))
        code = self._of_pieces(facts, vocabulary, lambda queries, answers: self._code(queries) + answers).numpy()
        code.sort()
        # Each answer once: a repeated fact must not be excluded from a ranking twice.
        first = changes(code)
        self.code = torch.from_numpy(code if first.all() else code[first])
        """The answers of all queries, as one integer each, ascending."""

    @staticmethod
    def _of_pieces(facts: Facts, vocabulary: Vocabulary, compute: Callable[[Queries, Tensor], Tensor]) -> Tensor:
        """Compute a number for each query of the facts, for some of them at a time, since many facts take memory."""
        found = torch.empty(2 * len(facts), dtype=torch.int64)
        for start in range(0, len(facts), PIECE):
            queries, answers = Queries.from_facts(facts[start : start + PIECE], vocabulary)
            found[2 * start : 2 * start + len(queries)] = compute(queries, answers)
        return found

    def _pair(self, queries: Queries) -> Tensor:
        return _numbered(queries.subject * self.num_relations + queries.relation, self.pairs)

    def _key(self, queries: Queries) -> Tensor:
        """Return the number of what a query asks for; -1 if no fact answers it."""
        pair = self._pair(queries)
        if self.filter is Filter.STATIC:
            return _numbered(pair, self.keys)
        elapsed = queries.time - self.first_time
        known = (pair >= 0) & (elapsed >= 0) & (elapsed < self.num_steps)
        return _numbered(torch.where(known, pair * self.num_steps + elapsed, -1), self.keys)

    def _code(self, queries: Queries) -> Tensor:
        """Return the code of each query's first answer, if entity 0 is one."""
        return self._key(queries) * self.num_entities

    def of(self, queries: Queries) -> tuple[Tensor, Tensor]:
        """Return the pairs (row of a query, true answer) as two tensors, ordered by row."""
        first = self._code(queries)
        end = first + self.num_entities
        row, position = spread(torch.searchsorted(self.code, first), torch.searchsorted(self.code, end))
        return row, self.code[position] - first[row]

    def others(self, queries: Queries, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pairs (row of a query, true answer) as ``of`` does, without the given answers."""
        row, answer = self.of(queries)
        other = (answer != answers[row]).nonzero()[:, 0]
        return row[other], answer[other]

    def to(self, device: torch.device | str) -> "TrueAnswers":
        """Return the same index on another device."""
        moved = object.__new__(TrueAnswers)
        moved.__dict__.update(self.__dict__)
        moved.code = self.code.to(device)
        moved.pairs = None if self.pairs is None else self.pairs.to(device)
        moved.keys = None if self.keys is None else self.keys.to(device)
        return moved


def _numbered(value: Tensor, listed: Tensor | None) -> Tensor:
    """Return the position of each value in an ascending list, -1 if it is not in it; without a list, the value."""
    if listed is None:
        return value
    place = torch.searchsorted(listed, value)
    return torch.where(torch.searchsorted(listed, value, right=True) > place, place, -1)
