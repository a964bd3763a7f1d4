"""Scores in several blocks of entities, in an order of their own."""

from collections.abc import Iterator, Sequence

import torch

from titer.models.scores import ScoreBlock, Scores


class PermutedScores(Scores):
    """Scores with entities in another order, in blocks of two."""

    def __init__(self, values: torch.Tensor, order: Sequence[int]):
        self.num_queries, self.num_entities = values.shape
        self.order = torch.tensor(order)
        self.values = values[:, self.order]

    def blocks(self) -> Iterator[ScoreBlock]:
        for start in range(0, self.num_entities, 2):
            yield ScoreBlock(start, self.values[:, start : start + 2])

    def position(self, entity: torch.Tensor) -> torch.Tensor:
        return self.order.argsort()[entity]

    def entity(self, position: torch.Tensor) -> torch.Tensor:
        return self.order[position]
