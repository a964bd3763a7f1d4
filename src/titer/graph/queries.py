"""Questions about the future: (subject, relation, ?, time)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Queries:
    """Questions (subject, relation, ?, time), one a row. (?, r, o, t) is asked as (o, inverse of r, ?, t)."""

    subject: Tensor  # (queries,)
    relation: Tensor  # (queries,) directed: a relation or an inverse
    time: Tensor  # (queries,)

    @classmethod
    def one(cls, subject: int, relation: int, time: int) -> "Queries":
        """A single question."""
        return cls(torch.tensor([subject]), torch.tensor([relation]), torch.tensor([time]))

    @classmethod
    def from_facts(cls, facts: Facts, vocabulary: Vocabulary) -> "tuple[Queries, Tensor]":
        """Both questions of every fact, and their answers: first all objects asked for, then all subjects."""
        subject, relation, object, time = (torch.from_numpy(column.astype("int64")) for column in facts.columns)
        queries = cls(
            torch.cat([subject, object]),
            torch.cat([relation, vocabulary.inverse(relation)]),
            torch.cat([time, time]),
        )
        return queries, torch.cat([object, subject])

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: Any) -> "Queries":
        return Queries(self.subject[rows], self.relation[rows], self.time[rows])

    def batches(self, size: int) -> "Iterator[tuple[slice, Queries]]":
        """The questions in order, ``size`` at a time, each with its place."""
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, self[rows]

    def by_time(self) -> "Iterator[tuple[Tensor, int]]":
        """The rows of the questions of each time, and that time."""
        for time in torch.unique(self.time).tolist():
            yield (self.time == time).nonzero()[:, 0], time

    def batches_in_time(self, size: int) -> "Iterator[tuple[Tensor, Queries]]":
        """The questions in order of time, at most ``size`` at a time, each with its place.

        Questions of one moment stay together where they can: models look around once for all of them.
        """
        order = torch.argsort(self.time, stable=True)
        _, counts = torch.unique_consecutive(self.time[order], return_counts=True)
        start = end = 0
        for count in [*counts.tolist(), size + 1]:
            if end - start + count > size:  # this moment begins a batch of its own
                for rows in order[start:end].split(size) if end > start else ():
                    yield rows, self[rows]
                start = end
            end += count

    def to(self, device: torch.device | str) -> "Queries":
        """The same questions on another device."""
        return Queries(self.subject.to(device), self.relation.to(device), self.time.to(device))
