"""The past of every entity, ready to be asked for in batches."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.time_axis import MAX_STEPS
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.graph.ragged import spread
from titer.kernels import triton_is_installed

if TYPE_CHECKING:
    from titer.graph.pair_index import PairIndex
    from titer.graph.popularity import Popularity
    from titer.graph.snapshots import Snapshots

# A key is the entity in the upper bits and the time since the first fact in the lower ones.
TIME_BITS = MAX_STEPS.bit_length() - 1
LAST_STEP = MAX_STEPS - 1
DERIVED = ("popularity", "pair_index", "snapshots")
"""What is computed from a history when first asked for, where the history then lives."""


@dataclass(frozen=True)
class Edges:
    """Edges of a batch of entities, latest first. Places without an edge hold the padding ids and time 0."""

    relation: Tensor  # (batch, limit) directed
    object: Tensor  # (batch, limit)
    time: Tensor  # (batch, limit)
    mask: Tensor  # (batch, limit) where there is an edge


@dataclass(frozen=True)
class AllEdges:
    """All edges of a batch of entities, laid end to end; within one entity in order of time."""

    row: Tensor  # (edges,) which entity of the batch
    relation: Tensor  # (edges,) directed
    object: Tensor  # (edges,)
    time: Tensor  # (edges,)


class History:
    """Facts in both directions, sorted by entity and time.

    A history may hold facts of any time: every question names the time before which it wants to know, and
    nothing at or after that time comes back. Edges of one entity and one step keep the order of their facts.
    Sixteen bytes a directed edge, and eight an entity.
    """

    def __init__(self, facts: Facts, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self.first_time = int(facts.time.min()) if len(facts) else 0
        self.last_time = int(facts.time.max()) if len(facts) else None
        key, relation, object = _sorted_edges(facts, vocabulary, self.first_time)
        self._keep(key, relation, object)

    def _keep(self, key: Tensor, relation: Tensor, object: Tensor) -> None:
        """Take sorted edges, and put the edge that stands for none behind them."""
        self.key = torch.cat([key, key.new_tensor([torch.iinfo(torch.int64).max])])
        self.relation = torch.cat([relation, relation.new_tensor([self.vocabulary.relation_padding])])
        self.object = torch.cat([object, object.new_tensor([self.vocabulary.entity_padding])])
        entities = torch.arange(self.vocabulary.num_entities + 1, device=key.device)
        # The padding entity has a place too, with nothing in it, so that it can be asked about like any other.
        self.offsets = torch.searchsorted(self.key, entities << TIME_BITS)  # (num_entities + 1,)
        self.max_edges = int(self.offsets.diff().max()) if len(self.offsets) > 1 else 0

    @property
    def num_edges(self) -> int:
        """Directed edges: two for every fact."""
        return len(self.key) - 1

    @property
    def num_steps(self) -> int:
        """Steps from the first fact to the last, both counted."""
        return (self.last_time - self.first_time + 1) if self.last_time is not None else 1

    @property
    def num_bytes(self) -> int:
        """Memory of the index."""
        return sum(t.element_size() * len(t) for t in (self.key, self.relation, self.object, self.offsets))

    @property
    def device(self) -> torch.device:
        """Where the index lives."""
        return self.key.device

    def to(self, device: torch.device | str) -> "History":
        """The same history on another device."""
        if torch.device(device) == self.device:
            return self
        moved = object.__new__(History)
        moved.__dict__.update({name: value for name, value in self.__dict__.items() if name not in DERIVED})
        for name in ("key", "relation", "object", "offsets"):
            setattr(moved, name, getattr(self, name).to(device))
        return moved

    def latest(self, entity: Tensor, before: Tensor, limit: int, *, inclusive: bool = False) -> Edges:
        """The ``limit`` latest edges of each entity strictly before each time (or up to it, if inclusive)."""
        if self.device.type == "cuda" and triton_is_installed():
            from titer.graph import history_triton

            return Edges(*history_triton.latest(self, entity, before, limit, inclusive))
        return self.reference_latest(entity, before, limit, inclusive=inclusive)

    def reference_latest(self, entity: Tensor, before: Tensor, limit: int, *, inclusive: bool = False) -> Edges:
        """The same on any device: what the kernel for GPUs is tested against."""
        start, end = self._range(entity, before, inclusive)
        slot = torch.arange(limit, device=self.device)
        position = end[:, None] - 1 - slot  # (batch, limit)
        mask = position >= start[:, None]
        position = torch.where(mask, position, self.num_edges)
        time = torch.where(mask, self._time(position), 0)
        return Edges(self.relation[position].long(), self.object[position].long(), time, mask)

    def all_before(self, entity: Tensor, before: Tensor) -> AllEdges:
        """Every edge of each entity strictly before each time."""
        row, position = spread(*self._range(entity, before, inclusive=False))
        return AllEdges(row, self.relation[position].long(), self.object[position].long(), self._time(position))

    def nth_latest(self, entity: Tensor, before: Tensor, n: Tensor) -> AllEdges:
        """One edge of each entity strictly before each time: the n-th latest, counted from 1.

        Where there is none, the edge has the padding ids and time 0.
        """
        start, end = self._range(entity, before, inclusive=False)
        exists = (n >= 1) & (end - n >= start)
        position = torch.where(exists, end - n, self.num_edges)
        row = torch.arange(len(entity), device=self.device)
        time = torch.where(exists, self._time(position), 0)
        return AllEdges(row, self.relation[position].long(), self.object[position].long(), time)

    def count_before(self, entity: Tensor, before: Tensor) -> Tensor:
        """How many edges each entity has strictly before each time."""
        start, end = self._range(entity, before, inclusive=False)
        return end - start

    def are_known(self, entity: Tensor, before: Tensor) -> Tensor:
        """Whether each entity has an edge strictly before each time. (times, entities)"""
        start, end = self.offsets[entity], self.offsets[entity + 1]
        first = torch.where(start < end, self._time(start), torch.iinfo(torch.int64).max)
        return first < before[:, None]

    @cached_property
    def popularity(self) -> "Popularity":
        """How often each entity has been the answer to a relation; computed when first asked for."""
        from titer.graph.popularity import Popularity

        return Popularity(self)

    @cached_property
    def pair_index(self) -> "PairIndex":
        """What is known of pairs, relations and entities; computed when first asked for."""
        from titer.graph.pair_index import PairIndex

        return PairIndex(self)

    @cached_property
    def snapshots(self) -> "Snapshots":
        """The graph of every time step; computed when first asked for."""
        from titer.graph.snapshots import Snapshots

        return Snapshots(self)

    def _range(self, entity: Tensor, before: Tensor, inclusive: bool) -> tuple[Tensor, Tensor]:
        """The positions of an entity's edges up to a time; both ends are plain searches in the sorted keys."""
        elapsed = before - self.first_time
        key = (entity << TIME_BITS) + elapsed.clamp(0, LAST_STEP)
        end = torch.searchsorted(self.key, key, right=inclusive)
        start = self.offsets[entity]
        # Clamping moved a time before the first fact up to it: then there is nothing.
        return start, torch.where(elapsed < 0, start, end)

    def _time(self, position: Tensor) -> Tensor:
        return (self.key[position] & LAST_STEP) + self.first_time

    def extended(self, facts: Facts, vocabulary: Vocabulary | None = None) -> "History":
        """This history and later facts; the sorted edges are merged, not sorted again.

        ``vocabulary`` is given when the facts bring new entities: the old one with names added at its end.
        """
        vocabulary = vocabulary or self.vocabulary
        if vocabulary.num_relations != self.vocabulary.num_relations:
            raise DataError("a history can learn of new entities, not of new relations")
        if len(facts) == 0 and vocabulary is self.vocabulary:
            return self
        if self.last_time is None:
            return History(facts, vocabulary).to(self.device)
        if len(facts) and int(facts.time.min()) < self.last_time:
            raise DataError("only facts that are not earlier than the last known one can be appended")
        return self.including(facts, vocabulary)

    def including(self, facts: Facts, vocabulary: Vocabulary | None = None) -> "History":
        """This history and facts of any time; each comes behind the edges that its entity already has in that step.

        ``vocabulary`` is given when the facts bring new entities: the old one with names added at its end.
        """
        vocabulary = vocabulary or self.vocabulary
        if self.last_time is None:
            return History(facts, vocabulary).to(self.device)
        merged = object.__new__(History)
        merged.vocabulary = vocabulary
        merged.first_time = min(self.first_time, int(facts.time.min())) if len(facts) else self.first_time
        merged.last_time = max(self.last_time, int(facts.time.max())) if len(facts) else self.last_time
        _check_span(merged.first_time, merged.last_time)
        new = tuple(column.to(self.device) for column in _sorted_edges(facts, vocabulary, merged.first_time))
        # The time in a key counts from the first fact.
        known = (self.key[:-1] + (self.first_time - merged.first_time), self.relation[:-1], self.object[:-1])
        place = torch.searchsorted(known[0], new[0], right=True) + torch.arange(len(new[0]), device=self.device)
        is_new = torch.zeros(self.num_edges + len(place), dtype=torch.bool, device=self.device)
        is_new[place] = True
        columns = []
        for old, added in zip(known, new, strict=True):
            column = torch.empty(len(is_new), dtype=old.dtype, device=self.device)
            column[is_new], column[~is_new] = added, old
            columns.append(column)
        merged._keep(*columns)
        return merged

    def without(self, facts: Facts) -> "History":
        """This history with some facts taken out, in both directions and however often each was given.

        Facts that it does not hold are passed over. It goes on to span the same time.
        """
        if len(facts) == 0 or self.last_time is None:
            return self
        facts = facts[(facts.time >= self.first_time) & (facts.time <= self.last_time)]
        gone = tuple(column.to(self.device) for column in _sorted_edges(facts, self.vocabulary, self.first_time))
        wanted, position = spread(
            torch.searchsorted(self.key, gone[0]), torch.searchsorted(self.key, gone[0], right=True)
        )
        same = (self.relation[position] == gone[1][wanted]) & (self.object[position] == gone[2][wanted])
        kept = torch.ones(self.num_edges, dtype=torch.bool, device=self.device)
        kept[position[same]] = False
        places = torch.nonzero(kept)[:, 0]
        smaller = object.__new__(History)
        smaller.vocabulary, smaller.first_time, smaller.last_time = self.vocabulary, self.first_time, self.last_time
        smaller._keep(*(column.index_select(0, places) for column in (self.key, self.relation, self.object)))
        return smaller


def _sorted_edges(facts: Facts, vocabulary: Vocabulary, first_time: int) -> tuple[Tensor, Tensor, Tensor]:
    """Keys, relations and objects of all directed edges, sorted by entity and time."""
    _check(facts, vocabulary, first_time)
    entity = _interleaved(facts.subject, facts.object)
    key = (entity.astype(np.int64) << TIME_BITS) + np.repeat(facts.time - first_time, 2)
    ordered, order = torch.sort(torch.from_numpy(key), stable=True)
    relation = _interleaved(facts.relation, vocabulary.inverse(facts.relation))
    object = _interleaved(facts.object, facts.subject)
    return ordered, torch.from_numpy(relation)[order], torch.from_numpy(object)[order]


def _interleaved(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Both directions of each fact side by side, so that neither comes before the other."""
    return np.stack([forward, backward], axis=1).reshape(-1)


def _check_span(first_time: int, last_time: int) -> None:
    if last_time - first_time > LAST_STEP:
        raise DataError(f"a history spans at most {LAST_STEP:,} steps; a coarser time unit makes fewer of them")


def _check(facts: Facts, vocabulary: Vocabulary, first_time: int) -> None:
    if len(facts) == 0:
        return
    _check_span(first_time, int(facts.time.max()))
    for column, count in (
        (facts.subject, vocabulary.num_entities),
        (facts.object, vocabulary.num_entities),
        (facts.relation, vocabulary.num_relations),
    ):
        if int(column.min()) < 0 or int(column.max()) >= count:
            raise DataError("facts have ids that are not in the vocabulary")
