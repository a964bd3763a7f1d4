"""A history as a sequence of graphs, one for each time step that has facts."""

from bisect import bisect_left
from functools import cached_property

import torch
from torch import Tensor

from titer.errors import DataError
from titer.graph.history import History
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS


class Snapshots:
    """The graphs of all time steps that have facts, numbered in order of time. A repeated fact counts once.

    A node is an entity in a time step in which it has a fact. Its edges are the facts of that step, directed away from
    it; the entities at their other ends are nodes of the same step. Like the history, the snapshots may contain facts
    of any time: the caller gets the number of snapshots before a time from ``before`` and uses only those.
    """

    def __init__(self, history: History):
        vocabulary = history.vocabulary
        self._num_relations, self._num_entities = vocabulary.num_directed_relations, vocabulary.num_entities
        key, relation, object = history.key[:-1], history.relation[:-1].long(), history.object[:-1].long()
        elapsed, step = torch.unique(key & LAST_STEP, return_inverse=True)
        self.times: list[int] = (elapsed + history.first_time).tolist()

        # Nodes, sorted by entity and then by time step.
        self._key, node = torch.unique((key >> TIME_BITS) * len(elapsed) + step, return_inverse=True)
        self.entity, self.step = self._key // max(len(elapsed), 1), self._key % max(len(elapsed), 1)
        self._by_step = torch.argsort(self.step, stable=True)
        starts = torch.searchsorted(self.step[self._by_step], torch.arange(len(elapsed) + 1, device=key.device))
        self._first_of_step: list[int] = starts.tolist()

        # Edges, sorted by node.
        if len(self._key) * self._num_relations * self._num_entities >= 1 << 63:
            raise DataError("nodes x relations x entities is too large for snapshots; leave out some of the facts")
        self._fact = torch.unique(self._code(node, relation, object))
        self.node = self._fact // (self._num_entities * self._num_relations)
        self.relation = self._fact // self._num_entities % self._num_relations
        self.object = self._fact % self._num_entities
        self.neighbour = torch.searchsorted(self._key, self.object * len(elapsed) + self.step[self.node])
        self._first_edge = torch.searchsorted(self.node, torch.arange(len(self._key) + 1, device=key.device))

    def _code(self, node: Tensor, relation: Tensor, object: Tensor) -> Tensor:
        """Return a different number for every possible edge."""
        return (node * self._num_relations + relation) * self._num_entities + object

    def before(self, time: int) -> int:
        """Return the number of snapshots before a time."""
        return bisect_left(self.times, time)

    def nodes(self, first: int, end: int) -> Tensor:
        """Return all nodes of the snapshots ``first .. end-1``, snapshot by snapshot."""
        return self._by_step[self._first_of_step[first] : self._first_of_step[end]]

    def edges(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return all edges of some nodes, preceded by the row of each edge's node."""
        return spread(self._first_edge[nodes], self._first_edge[nodes + 1])

    def latest(self, entity: Tensor, end: int, limit: int) -> tuple[Tensor, Tensor]:
        """Return the latest nodes of each entity before snapshot ``end``, latest last, and a mask of those that exist.

        Both are (entities, limit); where there is no node, its number is 0.
        """
        stop = torch.searchsorted(self._key, entity * len(self.times) + end)
        start = torch.searchsorted(self._key, entity * len(self.times))
        node = stop[:, None] - limit + torch.arange(limit, device=entity.device)
        exists = node >= start[:, None]
        return torch.where(exists, node, 0), exists

    @cached_property
    def begins(self) -> Tensor:
        """Whether the previous snapshot lacks the fact of each edge."""
        return ~self._holds_at(-1)

    @cached_property
    def ceases(self) -> Tensor:
        """Whether the next snapshot lacks the fact of each edge."""
        return ~self._holds_at(1)

    def _holds_at(self, distance: int) -> Tensor:
        """Return whether the fact of each edge also holds ``distance`` snapshots later."""
        step = self.step[self.node] + distance
        node, known = _find(self._key, self._key[self.node] + distance)
        _, holds = _find(self._fact, self._code(node, self.relation, self.object))
        return (step >= 0) & (step < len(self.times)) & known & holds


def _find(sorted: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return the position of each value in a sorted column, and whether it is there.

    The column may be empty only if there are no values.
    """
    place = torch.searchsorted(sorted, value).clamp(max=max(len(sorted) - 1, 0))
    return place, sorted[place] == value
