"""The frequency of each entity among the past answers to a relation, for any subject."""

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS


class Popularity:
    """The answers of every directed relation in a history, in order of time."""

    def __init__(self, history: History):
        self.num_entities = history.vocabulary.num_entities
        self.first_time = history.first_time
        elapsed = history.key[:-1] & LAST_STEP
        relation = history.relation[:-1].long()
        self.key, order = torch.sort((relation << TIME_BITS) + elapsed, stable=True)
        self.answer = history.object[:-1][order]

    def num_facts(self, queries: Queries) -> Tensor:
        """Return the number of facts with the relation of each query before its time. (queries,)"""
        key = self._key(queries)
        return torch.searchsorted(self.key, key) - torch.searchsorted(self.key, key & ~LAST_STEP)

    def share(self, queries: Queries) -> Tensor:
        """Return each entity's share of the past answers to the relation of each query. (queries, num_entities)

        A row is zero if the relation has no earlier fact.
        """
        # Queries of one time often share relations, which are then counted once.
        distinct, query_row = torch.unique(self._key(queries), return_inverse=True)
        start = torch.searchsorted(self.key, distinct & ~LAST_STEP)
        row, position = spread(start, torch.searchsorted(self.key, distinct))
        counts = torch.zeros(len(distinct) * self.num_entities, device=self.key.device)
        index = row * self.num_entities + self.answer[position]
        counts.index_add_(0, index, torch.ones_like(index, dtype=counts.dtype))
        counts = counts.view(len(distinct), self.num_entities)
        return (counts / counts.sum(dim=1, keepdim=True).clamp(min=1))[query_row]

    def _key(self, queries: Queries) -> Tensor:
        """Return the relation of each query, and the time steps from the first fact to it, as in the index."""
        elapsed = (queries.time - self.first_time).clamp(0, LAST_STEP)
        return (queries.relation << TIME_BITS) + elapsed
