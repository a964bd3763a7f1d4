"""The candidates that files of the Temporal Graph Benchmark list for each query."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.tgb.pickled import CandidateArrays
from titer.data.tgb.pickles import read_candidate_file
from titer.data.tgb.reader import tgb_sizes
from titer.data.tgb.time import steps_of
from titer.errors import DataError
from titer.graph.queries import Queries
from titer.graph.ragged import spread


class TgbCandidates:
    """The entities that a candidate file lists for each (time, subject, relation) of a split.

    Args:
        content: The content of the file.
        dataset: The dataset that it belongs to, as ``read_tgb`` returns it.

    Raises:
        DataError: If the file mentions entities or relations that the dataset does not have.
    """

    def __init__(self, content: CandidateArrays, dataset: Dataset):
        self._dataset, self._sizes = dataset, tgb_sizes(dataset)
        self.num_entities = self._sizes.entities
        times, subject, relation = content.keys.T
        num_relations = dataset.vocabulary.num_directed_relations
        limits = {"subject": (subject, self.num_entities), "relation": (relation, num_relations)}
        for part, (ids, limit) in {**limits, "entity": (content.values, self.num_entities)}.items():
            if ids.min() < 0 or ids.max() >= limit:
                raise DataError(f"the candidates are those of another dataset: there are only {limit:,} {part} ids")
        steps = steps_of(times, dataset.axis)
        self._first = int(steps.min())
        self._num_steps = int(steps.max()) - self._first + 1
        if self._num_steps * self.num_entities * num_relations >= 1 << 63:
            raise DataError("the times of the candidates are too far apart")
        key = ((steps - self._first) * self.num_entities + subject) * num_relations + relation
        order = np.argsort(key, kind="stable")
        self._key = torch.from_numpy(key[order])
        self._start = torch.from_numpy(content.start[order])
        self._length = torch.from_numpy(content.length[order])
        self._values = torch.from_numpy(content.values)

    @classmethod
    def load(cls, path: Path, dataset: Dataset) -> "TgbCandidates":
        """Read a candidate file.

        Args:
            path: A file ``NAME_val_ns.pkl`` or ``NAME_test_ns.pkl``. Nothing in it is executed.
            dataset: The dataset that it belongs to.

        Raises:
            DataError: If the file cannot be read, or belongs to another dataset.
        """
        try:
            return cls(read_candidate_file(path), dataset)
        except DataError as error:
            raise error if str(path) in str(error) else DataError(f"{path}: {error}") from None

    def entries(self, queries: Queries) -> Tensor:
        """Return the number of the entry of each query.

        Args:
            queries: Queries of the split.

        Returns:
            Positions for ``of``. Shape (queries,).

        Raises:
            DataError: If a query has no entry.
        """
        vocabulary = self._dataset.vocabulary
        undirected = vocabulary.undirected(queries.relation)
        # TGB numbers inverse relations after those in use.
        relation = torch.where(vocabulary.is_inverse(queries.relation), undirected + self._sizes.relations, undirected)
        elapsed = queries.time - self._first
        pair = elapsed * self.num_entities + queries.subject
        key = pair * vocabulary.num_directed_relations + relation
        found = (torch.searchsorted(self._key, key, right=True) - 1).clamp(min=0)
        lacking = (self._key[found] != key) | (elapsed < 0) | (elapsed >= self._num_steps)
        if bool(lacking.any()):
            row = int(lacking.nonzero()[0, 0])
            subject, when = vocabulary.entities[int(queries.subject[row])], int(queries.time[row])
            raise DataError(
                f"the candidates have no entry for {int(lacking.sum()):,} of {len(queries):,} queries, such as "
                f"{subject!r} at {self._dataset.axis.label(when)}; use the file of this split and dataset"
            )
        return found

    def of(self, entries: Tensor) -> tuple[Tensor, Tensor]:
        """Return the entities of some entries.

        Args:
            entries: Positions, as ``entries`` returns them. Shape (entries,).

        Returns:
            Pairs (row, entity), ordered by row; each of shape (pairs,).
        """
        start = self._start[entries]
        row, position = spread(start, start + self._length[entries])
        return row, self._values[position].long()

    def longest(self, entries: Tensor) -> int:
        """Return the largest number of entities that one of some entries has.

        Args:
            entries: Positions, as ``entries`` returns them. Shape (entries,).
        """
        return int(self._length[entries].max()) if len(entries) else 0

    def contain(self, entries: Tensor, answers: Tensor) -> Tensor:
        """Return whether each entry has an answer among its entities.

        Args:
            entries: Positions, as ``entries`` returns them. Shape (entries,).
            answers: Entity ids. Shape (entries,).

        Returns:
            A mask of shape (entries,).
        """
        found = torch.zeros(len(entries), dtype=torch.bool)
        for rows in torch.arange(len(entries)).split(1 << 16):
            row, entity = self.of(entries[rows])
            found[rows[row[entity == answers[rows][row]]]] = True
        return found
