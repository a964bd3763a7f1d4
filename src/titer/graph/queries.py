"""Batches of queries (subject, relation, ?, time)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Queries:
    """A batch of queries (subject, relation, ?, time), as columns of ids.

    A query for the subject, (?, relation, object, time), is written as (object, inverse relation, ?, time).

    Attributes:
        subject: Entity ids. Shape ``(queries,)``, int64.
        relation: Ids of directed relations: relations or their inverses. Shape ``(queries,)``, int64.
        time: Time steps. Only facts before this time may be used to answer a query. Shape ``(queries,)``, int64.
    """

    subject: Tensor
    relation: Tensor
    time: Tensor

    @classmethod
    def one(cls, subject: int, relation: int, time: int) -> "Queries":
        """Return a batch of a single query.

        Args:
            subject: Entity id.
            relation: Id of a directed relation.
            time: Time step.
        """
        return cls(torch.tensor([subject]), torch.tensor([relation]), torch.tensor([time]))

    @classmethod
    def from_facts(cls, facts: Facts, vocabulary: Vocabulary) -> "tuple[Queries, Tensor]":
        """Return the two queries of every fact, for its object and for its subject, with their answers.

        Args:
            facts: The facts to ask for.
            vocabulary: The vocabulary of the facts.

        Returns:
            ``2 * len(facts)`` queries, those for objects first, and the entity ids of their answers, of shape
            ``(2 * len(facts),)``.
        """
        subject, relation, object, time = (torch.from_numpy(column.astype("int64")) for column in facts.columns)
        queries = cls(
            torch.cat([subject, object]),
            torch.cat([relation, vocabulary.inverse(relation)]),
            torch.cat([time, time]),
        )
        return queries, torch.cat([object, subject])

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.subject)

    def __getitem__(self, rows: Any) -> "Queries":
        """Return the queries of some rows: a slice, a list, or a tensor of positions or of booleans."""
        return Queries(self.subject[rows], self.relation[rows], self.time[rows])

    def select(self, rows: Tensor) -> "Queries":
        """Return the queries at the given positions, faster on a GPU than by indexing.

        Args:
            rows: Positions. Shape ``(batch,)``, int64.
        """
        return Queries(*(column.index_select(0, rows) for column in (self.subject, self.relation, self.time)))

    def repeated(self, times: int) -> "Queries":
        """Return every query several times in a row.

        Args:
            times: How many times.

        Returns:
            The queries, the copies of each one after the other.
        """
        if times == 1:
            return self
        return Queries(*(column.repeat_interleave(times) for column in (self.subject, self.relation, self.time)))

    def batches(self, size: int) -> "Iterator[tuple[slice, Queries]]":
        """Yield the queries in order, in batches.

        Args:
            size: Maximum size of a batch.

        Yields:
            The rows of a batch, and its queries.
        """
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, self[rows]

    def by_time(self) -> "Iterator[tuple[Tensor, int]]":
        """Yield the rows of the queries of each time step, and the time step, in ascending order."""
        for time in torch.unique(self.time).tolist():
            yield (self.time == time).nonzero()[:, 0], time

    def batches_in_time(self, size: int, max_steps: int | None = None) -> "Iterator[tuple[Tensor, Queries]]":
        """Yield the queries in order of time, in batches that split a time step only if it is larger than a batch.

        Models that compute something per time step then compute it once.

        Args:
            size: Maximum size of a batch.
            max_steps: Maximum number of time steps of a batch; None for any number.

        Yields:
            The rows of a batch, and its queries.
        """
        order = torch.argsort(self.time, stable=True)
        _, counts = torch.unique_consecutive(self.time[order], return_counts=True)
        start = end = steps = 0
        for count in [*counts.tolist(), size + 1]:
            if end - start + count > size or steps == max_steps:  # the next time step does not fit into this batch
                for rows in order[start:end].split(size) if end > start else ():
                    yield rows, self[rows]
                start, steps = end, 0
            end += count
            steps += 1

    def to(self, device: torch.device | str) -> "Queries":
        """Return the queries on another device.

        Args:
            device: The device to copy the columns to.
        """
        return Queries(self.subject.to(device), self.relation.to(device), self.time.to(device))
