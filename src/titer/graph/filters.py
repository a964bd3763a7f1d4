"""The true answers of queries, to exclude them from rankings."""

from enum import StrEnum

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.queries import Queries
from titer.graph.ragged import spread
from titer.graph.sorting import changes, sorted_rows

MAX_KEYS = 1 << 63
"""Combinations of subject, relation and time step that an integer can number."""


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
        self.num_relations = vocabulary.num_directed_relations
        self.first_time = int(facts.time.min()) if len(facts) else 0
        self.num_steps = int(facts.time.max()) - self.first_time + 1 if len(facts) else 1
        queries, answers = Queries.from_facts(facts, vocabulary)
        if filter is Filter.RAW:
            queries, answers = queries[:0], answers[:0]
        num_pairs = vocabulary.num_entities * self.num_relations
        # The pairs (subject, relation) that occur, numbered if a key could not hold all that are possible.
        pairs = None
        if num_pairs * self.num_steps >= MAX_KEYS:
            pairs = torch.unique(queries.subject * self.num_relations + queries.relation)
            num_pairs = len(pairs)
        self.pairs: Tensor | None = pairs
        # Each answer once: a repeated fact must not be excluded from a ranking twice.
        num_keys = num_pairs * self.num_steps
        rows = (self._key(queries).numpy(), answers.numpy())
        key, answer = sorted_rows(rows, (num_keys, vocabulary.num_entities))
        first = changes(key, answer)
        self.key, self.answer = torch.from_numpy(key[first]), torch.from_numpy(answer[first])

    def _key(self, queries: Queries) -> Tensor:
        pair = queries.subject * self.num_relations + queries.relation
        if self.pairs is not None:
            place = torch.searchsorted(self.pairs, pair)
            occurs = torch.searchsorted(self.pairs, pair, right=True) > place
            pair = torch.where(occurs, place, -1)
        if self.filter is Filter.STATIC:
            return pair
        elapsed = queries.time - self.first_time
        known = (elapsed >= 0) & (elapsed < self.num_steps)
        return torch.where(known, pair * self.num_steps + elapsed, -1)

    def of(self, queries: Queries) -> tuple[Tensor, Tensor]:
        """Return the pairs (row of a query, true answer) as two tensors, ordered by row."""
        key = self._key(queries)
        row, position = spread(torch.searchsorted(self.key, key), torch.searchsorted(self.key, key, right=True))
        return row, self.answer[position]

    def others(self, queries: Queries, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pairs (row of a query, true answer) as ``of`` does, without the given answers."""
        row, answer = self.of(queries)
        other = (answer != answers[row]).nonzero()[:, 0]
        return row[other], answer[other]

    def to(self, device: torch.device | str) -> "TrueAnswers":
        """Return the same index on another device."""
        moved = object.__new__(TrueAnswers)
        moved.__dict__.update(self.__dict__)
        moved.key, moved.answer = self.key.to(device), self.answer.to(device)
        moved.pairs = None if self.pairs is None else self.pairs.to(device)
        return moved
