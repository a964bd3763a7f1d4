"""Scores of all entities as answers to a batch of queries, whole or in blocks of entities.

A model with few entities returns a dense tensor from ``Model.score``. A model for many entities overrides
``Model.scores`` and computes its scores block by block, so that memory does not grow with the number of entities.
Rankings, calibration and the forecaster read ``Scores`` and treat both alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

UNREACHED = -torch.inf
"""The score of an entity that the model does not consider as an answer."""


@dataclass(frozen=True)
class ScoreBlock:
    """The scores of some entities: those at the positions from ``start`` on.

    Attributes:
        start: The first position.
        values: A score for each query and each position. Shape ``(queries, positions)``.
    """

    start: int
    values: Tensor

    @property
    def end(self) -> int:
        """The position after the last one."""
        return self.start + self.values.shape[1]


class Scores(ABC):
    """The scores of all entities as answers to a batch of queries.

    A model may arrange entities in any order: every entity has a position, and blocks are ranges of positions.

    Attributes:
        num_queries: The number of queries.
        num_entities: The number of entities, and of positions.
    """

    num_queries: int
    num_entities: int

    @abstractmethod
    def blocks(self) -> Iterator[ScoreBlock]:
        """Yield the scores of all positions, in ascending blocks. The caller must not change them.

        Computing blocks takes time; callers iterate as seldom as they can.
        """

    @abstractmethod
    def position(self, entity: Tensor) -> Tensor:
        """Return the position of each entity.

        Args:
            entity: Entity ids. Any shape.
        """

    @abstractmethod
    def entity(self, position: Tensor) -> Tensor:
        """Return the entity at each position.

        Args:
            position: Positions. Any shape.
        """

    def at(self, row: Tensor, entity: Tensor) -> Tensor:
        """Return the scores of some pairs of query and entity.

        Args:
            row: Positions of queries in the batch. Shape ``(pairs,)``.
            entity: Entity ids. Shape ``(pairs,)``.

        Returns:
            Scores, exactly those of the blocks. Shape ``(pairs,)``.
        """
        position = self.position(entity)
        found = torch.full(position.shape, UNREACHED, device=position.device)
        for block in self.blocks():
            column = position - block.start
            inside = (column >= 0) & (column < block.values.shape[1])
            index = row * block.values.shape[1] + column
            if block.values.shape[1] == self.num_entities:
                return block.values.reshape(-1).index_select(0, index)
            found[inside] = block.values.reshape(-1).index_select(0, index[inside])
        return found

    def dense(self) -> Tensor:
        """Return the scores of all entities in the order of the vocabulary. Shape ``(queries, num_entities)``."""
        whole = torch.cat([block.values for block in self.blocks()], dim=1)
        return whole.index_select(1, self.position(torch.arange(self.num_entities, device=whole.device)))


class DenseScores(Scores):
    """The scores of all entities in one tensor, in the order of the vocabulary."""

    def __init__(self, values: Tensor):
        """Wrap the result of ``Model.score``.

        Args:
            values: Scores of shape ``(queries, num_entities)``.
        """
        self.num_queries, self.num_entities = values.shape
        self._values = values

    def blocks(self) -> Iterator[ScoreBlock]:
        """Yield all scores as one block."""
        yield ScoreBlock(0, self._values)

    def position(self, entity: Tensor) -> Tensor:
        """Return the entities themselves.

        Args:
            entity: Entity ids. Any shape.
        """
        return entity

    def entity(self, position: Tensor) -> Tensor:
        """Return the positions themselves.

        Args:
            position: Positions. Any shape.
        """
        return position

    def dense(self) -> Tensor:
        """Return the tensor."""
        return self._values
