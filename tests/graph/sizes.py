"""The size of a vocabulary without its names."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Size:
    """As much of a vocabulary as an index needs; names of a billion entities would fill the memory."""

    num_entities: int
    num_relations: int

    @property
    def num_directed_relations(self) -> int:
        return 2 * self.num_relations

    @property
    def relation_padding(self) -> int:
        return 2 * self.num_relations + 2

    def inverse(self, relation: torch.Tensor) -> torch.Tensor:
        return (relation + self.num_relations) % self.num_directed_relations
