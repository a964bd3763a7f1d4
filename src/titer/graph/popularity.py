"""How often each entity has been the answer to a relation, whoever was the subject."""

import torch
from torch import Tensor

from titer.graph.history import LAST_STEP, TIME_BITS, History
from titer.graph.queries import Queries
from titer.graph.ragged import spread


class Popularity:
    """The answers of every directed relation in order of time; built from a history when a model needs it."""

    def __init__(self, history: History):
        self.num_entities = history.vocabulary.num_entities
        self.first_time = history.first_time
        elapsed = history.key[:-1] & LAST_STEP
        relation = history.relation[:-1].long()
        self.key, order = torch.sort((relation << TIME_BITS) + elapsed, stable=True)
        self.answer = history.object[:-1][order]

    def num_facts(self, queries: Queries) -> Tensor:
        """How many past facts each question's relation has. (queries,)"""
        elapsed = (queries.time - self.first_time).clamp(0, LAST_STEP)
        first = queries.relation << TIME_BITS
        return torch.searchsorted(self.key, first + elapsed) - torch.searchsorted(self.key, first)

    def share(self, queries: Queries) -> Tensor:
        """Each entity's share of the past answers to each question's relation. (queries, num_entities)

        Rows are zero where a relation has no past.
        """
        elapsed = (queries.time - self.first_time).clamp(0, LAST_STEP)
        # Questions of one time often share relations: count once for all of them.
        asked, place = torch.unique((queries.relation << TIME_BITS) + elapsed, return_inverse=True)
        start = torch.searchsorted(self.key, asked & ~LAST_STEP)
        row, position = spread(start, torch.searchsorted(self.key, asked))
        counts = torch.zeros(len(asked) * self.num_entities, device=self.key.device)
        index = row * self.num_entities + self.answer[position]
        counts.index_add_(0, index, torch.ones_like(index, dtype=counts.dtype))
        counts = counts.view(len(asked), self.num_entities)
        return (counts / counts.sum(dim=1, keepdim=True).clamp(min=1))[place]
