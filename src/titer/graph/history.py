"""The facts of every entity in order of time, with look-ups for batches of entities."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.edge_columns import COLUMNS, padding_edge, sorted_edges
from titer.graph.edges import AllEdges, Edges
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS, check_span
from titer.kernels import triton_is_installed

if TYPE_CHECKING:
    from titer.graph.pair_index import PairIndex
    from titer.graph.popularity import Popularity
    from titer.graph.snapshots import Snapshots

DERIVED = ("popularity", "pair_index", "snapshots")
"""Cached indexes, which are not copied to another device: they are built there when first used."""
UPDATE_COST = 100
"""Cost of copying the rows between two changed entities of a pair index, in edges to index."""


class History:
    """The edges of every entity, sorted by time.

    Every fact (subject, relation, object, time) is stored as two directed edges: one of the subject, and one of the
    object with the inverse relation. A history may contain facts of any time. Every look-up takes a time and returns
    only edges before it, so one history serves queries of different times. Edges of one entity and one time step keep
    the order of their facts.

    A history does not change; ``including`` and ``without`` return new ones. It takes 16 bytes per directed edge and 8
    per entity.

    Attributes:
        vocabulary: The entities and relations that the ids belong to.
        first_time: Time step of the earliest fact; 0 if there are no facts.
        last_time: Time step of the latest fact; None if there are no facts.
        max_edges: Number of edges of the entity that has most.
    """

    def __init__(self, facts: Facts, vocabulary: Vocabulary):
        """Index some facts.

        Args:
            facts: The facts, in any order.
            vocabulary: The vocabulary that their ids belong to.

        Raises:
            DataError: An id is not in the vocabulary, or the facts span too many time steps.
        """
        self.vocabulary = vocabulary
        self.first_time = int(facts.time.min()) if len(facts) else 0
        self.last_time = int(facts.time.max()) if len(facts) else None
        offsets, columns = sorted_edges(facts, vocabulary, self.first_time)
        self._keep(offsets, *columns)

    def _keep(self, offsets: Tensor, key: Tensor, relation: Tensor, object: Tensor) -> None:
        """Store sorted edges, which are followed by one padding edge."""
        # The padding entity has an offset too, and no edges, so that look-ups accept it.
        self.offsets = offsets  # (num_entities + 1,)
        self.key, self.relation, self.object = key, relation, object  # (num_edges + 1,)
        self.max_edges = int(offsets.diff().max()) if len(offsets) > 1 else 0
        # An index to update, or a history whose index is stored, and the entities whose edges differ from those in it.
        self._earlier: tuple[PairIndex | History, Tensor] | None = None
        # Returns the columns of the pair index from files, if they can be stored.
        self.stored_pairs: Callable[[History], dict[str, Tensor] | None] | None = None

    @classmethod
    def of_columns(cls, vocabulary: Vocabulary, times: tuple[int, int | None], columns: dict[str, Tensor]) -> "History":
        """Return a history whose columns were computed before.

        Args:
            vocabulary: The vocabulary of the facts.
            times: The time steps of the first and the last fact.
            columns: The sorted edges ``key``, ``relation`` and ``object``, and the ``offsets`` of the entities.
        """
        made = object.__new__(cls)
        made.vocabulary, (made.first_time, made.last_time) = vocabulary, times
        made._keep(*(columns[name] for name in COLUMNS))
        return made

    @property
    def num_edges(self) -> int:
        """Number of directed edges: two for every fact."""
        return len(self.key) - 1

    @property
    def num_steps(self) -> int:
        """Number of time steps from the first fact to the last, both included."""
        return (self.last_time - self.first_time + 1) if self.last_time is not None else 1

    @property
    def num_bytes(self) -> int:
        """Memory of the index in bytes, without the cached indexes derived from it."""
        return sum(getattr(self, name).element_size() * len(getattr(self, name)) for name in COLUMNS)

    @property
    def device(self) -> torch.device:
        """The device that the index is on."""
        return self.key.device

    def to(self, device: torch.device | str) -> "History":
        """Return this history on another device.

        Args:
            device: The device to copy the index to.

        Returns:
            A copy, or this history if it is on the device already.
        """
        if torch.device(device) == self.device:
            return self
        moved = object.__new__(History)
        moved.__dict__.update({name: value for name, value in self.__dict__.items() if name not in DERIVED})
        for name in COLUMNS:
            setattr(moved, name, getattr(self, name).to(device))
        moved._earlier = None
        return moved

    def latest(self, entity: Tensor, before: Tensor, limit: int, *, inclusive: bool = False) -> Edges:
        """Return the latest edges of each entity before its time.

        Args:
            entity: Entity ids; the padding entity is allowed and has no edges. Shape ``(batch,)``.
            before: A time for each entity. Shape ``(batch,)``.
            limit: Maximum number of edges per entity.
            inclusive: Whether edges at the time itself are returned too.

        Returns:
            The edges, latest first. Shape ``(batch, limit)``.
        """
        if self.device.type == "cuda" and triton_is_installed():
            from titer.graph import history_triton

            return Edges(*history_triton.latest(self, entity, before, limit, inclusive))
        return self.reference_latest(entity, before, limit, inclusive=inclusive)

    def reference_latest(self, entity: Tensor, before: Tensor, limit: int, *, inclusive: bool = False) -> Edges:
        """Compute ``latest`` with plain PyTorch on any device; the Triton kernel is tested against it.

        Args:
            entity: As for ``latest``.
            before: As for ``latest``.
            limit: As for ``latest``.
            inclusive: As for ``latest``.

        Returns:
            The edges, latest first. Shape ``(batch, limit)``.
        """
        start, end = self._range(entity, before, inclusive)
        slot = torch.arange(limit, device=self.device)
        position = end[:, None] - 1 - slot  # (batch, limit)
        mask = position >= start[:, None]
        position = torch.where(mask, position, self.num_edges)
        time = torch.where(mask, self._time(position), 0)
        # On a CPU, index_select is several times as fast as indexing.
        relation, object = (column.index_select(0, position.view(-1)) for column in (self.relation, self.object))
        return Edges(relation.long().view(mask.shape), object.long().view(mask.shape), time, mask)

    def all_before(self, entity: Tensor, before: Tensor) -> AllEdges:
        """Return all edges of each entity before its time.

        Args:
            entity: Entity ids. Shape ``(batch,)``.
            before: A time for each entity. Shape ``(batch,)``.

        Returns:
            The edges, by entity and then by time, earliest first.
        """
        row, position = spread(*self._range(entity, before, inclusive=False))
        return AllEdges(row, self.relation[position].long(), self.object[position].long(), self._time(position))

    def nth_latest(self, entity: Tensor, before: Tensor, n: Tensor) -> AllEdges:
        """Return the n-th latest edge of each entity before its time.

        Args:
            entity: Entity ids. Shape ``(batch,)``.
            before: A time for each entity. Shape ``(batch,)``.
            n: Which edge, counted from 1 for the latest. Shape ``(batch,)``.

        Returns:
            One edge per entity, with the padding ids and time 0 where the entity has fewer than n edges.
        """
        start, end = self._range(entity, before, inclusive=False)
        exists = (n >= 1) & (end - n >= start)
        position = torch.where(exists, end - n, self.num_edges)
        row = torch.arange(len(entity), device=self.device)
        time = torch.where(exists, self._time(position), 0)
        return AllEdges(row, self.relation[position].long(), self.object[position].long(), time)

    def count_before(self, entity: Tensor, before: Tensor) -> Tensor:
        """Return the number of edges of each entity before its time.

        Args:
            entity: Entity ids. Shape ``(batch,)``.
            before: A time for each entity. Shape ``(batch,)``.

        Returns:
            The counts. Shape ``(batch,)``.
        """
        start, end = self._range(entity, before, inclusive=False)
        return end - start

    def are_known(self, entity: Tensor, before: Tensor) -> Tensor:
        """Return which entities have an edge before which times.

        Args:
            entity: Entity ids. Shape ``(entities,)``.
            before: Times. Shape ``(times,)``.

        Returns:
            Booleans of shape ``(times, entities)``.
        """
        start, end = self.offsets[entity], self.offsets[entity + 1]
        first = torch.where(start < end, self._time(start), torch.iinfo(torch.int64).max)
        return first < before[:, None]

    @cached_property
    def popularity(self) -> "Popularity":
        """Past answers of every relation; built when first used."""
        from titer.graph.popularity import Popularity

        return Popularity(self)

    @cached_property
    def pair_index(self) -> "PairIndex":
        """Past facts by pair, relation and entity; opened, built or updated from an earlier index when first used."""
        from titer.graph.pair_index import PairIndex

        if (found := self._stored_index()) is not None:
            return found
        if self._earlier is None:
            return PairIndex(self)
        earlier, changed = self._earlier
        num_changed = int((self.offsets[changed + 1] - self.offsets[changed]).sum())
        is_cheaper = UPDATE_COST * len(changed) + num_changed < self.num_edges
        index = earlier._stored_index() if isinstance(earlier, History) and is_cheaper else earlier
        found = index.updated(self, changed) if is_cheaper and isinstance(index, PairIndex) else PairIndex(self)
        self._earlier = None  # the older index is not needed any more
        return found

    def _stored_index(self) -> "PairIndex | None":
        """Return the stored pair index, which is opened once; None if none can be stored."""
        from titer.graph.pair_index import PairIndex

        if "pair_index" in self.__dict__:
            return self.pair_index
        if self.stored_pairs is None or (columns := self.stored_pairs(self)) is None:
            return None
        self.pair_index = PairIndex.of_columns(self, {name: each.to(self.device) for name, each in columns.items()})
        return self.pair_index

    @cached_property
    def snapshots(self) -> "Snapshots":
        """The graph of every time step; built when first used."""
        from titer.graph.snapshots import Snapshots

        return Snapshots(self)

    def _range(self, entity: Tensor, before: Tensor, inclusive: bool) -> tuple[Tensor, Tensor]:
        """Return the first position of each entity's edges, and the position after the last one before its time."""
        key = (entity << TIME_BITS) + self.elapsed(before)
        end = torch.searchsorted(self.key, key, right=inclusive)
        start = self.offsets[entity]
        # A time before the first fact was clamped to it; then there are no edges.
        return start, torch.where(before < self.first_time, start, end)

    def elapsed(self, time: Tensor) -> Tensor:
        """Return the time steps since the first fact, as in the keys of an index.

        Args:
            time: Time steps. Any shape.

        Returns:
            Elapsed time steps of the same shape. Times before the first fact give 0: no fact is earlier than that.
            Times too late for a key give the largest elapsed time that a key can hold.
        """
        return (time - self.first_time).clamp(0, LAST_STEP)

    def _time(self, position: Tensor) -> Tensor:
        key = self.key.index_select(0, position.reshape(-1)).view(position.shape)
        return (key & LAST_STEP) + self.first_time

    def including(self, facts: Facts, vocabulary: Vocabulary | None = None) -> "History":
        """Return a history that also has some other facts, of any time.

        The sorted edges are merged, not sorted again. Within a time step, new edges follow those of this history.

        Args:
            facts: The facts to add; a fact that is present already is added again.
            vocabulary: Needed if the facts have new entities: the vocabulary of this history with names appended.

        Returns:
            A new history on the same device.

        Raises:
            DataError: An id is not in the vocabulary, or all facts together span too many time steps.
        """
        vocabulary = vocabulary or self.vocabulary
        if self.last_time is None:
            return History(facts, vocabulary).to(self.device)
        merged = object.__new__(History)
        merged.vocabulary = vocabulary
        merged.first_time = min(self.first_time, int(facts.time.min())) if len(facts) else self.first_time
        merged.last_time = max(self.last_time, int(facts.time.max())) if len(facts) else self.last_time
        check_span(merged.first_time, merged.last_time)
        offsets, new = sorted_edges(facts, vocabulary, merged.first_time)
        new = tuple(column[:-1].to(self.device) for column in new)
        # Keys count time from the first fact, which may be earlier now.
        known = (self.key[:-1] + (self.first_time - merged.first_time), self.relation[:-1], self.object[:-1])
        place = torch.searchsorted(known[0], new[0], right=True) + torch.arange(len(new[0]), device=self.device)
        is_new = torch.zeros(self.num_edges + len(place), dtype=torch.bool, device=self.device)
        is_new[place] = True
        columns = []
        for old, added, padding in zip(known, new, padding_edge(vocabulary), strict=True):
            column = torch.empty(len(is_new) + 1, dtype=old.dtype, device=self.device)
            column[:-1][is_new], column[:-1][~is_new], column[-1] = added, old, padding
            columns.append(column)
        # Entities that are new in the vocabulary had no edges.
        missing = len(offsets) - len(self.offsets)
        before = torch.cat([self.offsets, self.offsets[-1:].expand(missing)])
        merged._keep(before + offsets.to(self.device), *columns)
        merged._earlier = self._earlier_index(facts, vocabulary)
        return merged

    def without(self, facts: Facts) -> "History":
        """Return a history that lacks some facts.

        Args:
            facts: The facts to remove. All copies of a fact are removed, in both directions; facts that this history
                does not have are ignored.

        Returns:
            A new history on the same device, with the same ``first_time`` and ``last_time``; or this history if there
            is nothing to remove.
        """
        if len(facts) == 0 or self.last_time is None:
            return self
        facts = facts[(facts.time >= self.first_time) & (facts.time <= self.last_time)]
        removed = sorted_edges(facts, self.vocabulary, self.first_time)[1]
        removed = tuple(column[:-1].to(self.device) for column in removed)
        row, position = spread(
            torch.searchsorted(self.key, removed[0]), torch.searchsorted(self.key, removed[0], right=True)
        )
        same = (self.relation[position] == removed[1][row]) & (self.object[position] == removed[2][row])
        kept = torch.ones(self.num_edges, dtype=torch.bool, device=self.device)
        kept[position[same]] = False
        rows = torch.nonzero(kept)[:, 0]
        smaller = object.__new__(History)
        smaller.vocabulary, smaller.first_time, smaller.last_time = self.vocabulary, self.first_time, self.last_time
        num_kept = torch.cat([kept.new_zeros(1, dtype=torch.int64), torch.cumsum(kept, 0)])
        rows = torch.cat([rows, rows.new_tensor([self.num_edges])])  # with the padding edge
        columns = (column.index_select(0, rows) for column in (self.key, self.relation, self.object))
        smaller._keep(num_kept[self.offsets], *columns)
        smaller._earlier = self._earlier_index(facts, self.vocabulary)
        return smaller

    def _earlier_index(self, facts: Facts, vocabulary: Vocabulary) -> "tuple[PairIndex | History, Tensor] | None":
        """Return what a history with other ``facts`` may update, and the entities whose edges then differ."""
        changed = torch.from_numpy(np.union1d(facts.subject, facts.object).astype(np.int64)).to(self.device)
        if vocabulary.num_relations != self.vocabulary.num_relations:
            return None
        if (index := self.__dict__.get("pair_index")) is not None:
            return index, changed
        if self.stored_pairs is not None:
            return self, changed  # the index is opened if and when it is needed
        if (earlier := self._earlier) is not None:
            return earlier[0], torch.unique(torch.cat([earlier[1], changed]))
        return None
