"""Facts without a time, and the earlier facts between their entities."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.graph.ragged import spread

BAG_HORIZONS = (1, 2, 3, 5)
"""Which decays of ``HORIZONS`` the counts of a pair by relation have."""


@dataclass(frozen=True)
class Triples:
    """Facts without a time, as columns of ids: relations are those of the data, never inverse."""

    subject: Tensor  # (triples,)
    relation: Tensor  # (triples,)
    object: Tensor  # (triples,)

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: Tensor | slice) -> "Triples":
        return Triples(self.subject[rows], self.relation[rows], self.object[rows])

    @classmethod
    def concatenate(cls, *parts: "Triples") -> "Triples":
        """Return triples joined in order."""
        return cls(*(torch.cat([getattr(p, name) for p in parts]) for name in ("subject", "relation", "object")))


@dataclass(frozen=True)
class Bag:
    """The earlier facts between subject and object by directed relation, concatenated for many triples."""

    offset: Tensor  # (triples + 1,) first entry of each triple
    relation: Tensor  # (entries,) directed
    weight: Tensor  # (entries, len(BAG_HORIZONS))
    age: Tensor  # (entries,) time steps since the last such fact

    def __getitem__(self, rows: Tensor) -> "Bag":
        start, end = self.offset[rows], self.offset[rows + 1]
        _, place = spread(start, end)
        offset = torch.cat([start.new_zeros(1), torch.cumsum(end - start, 0)])
        return Bag(offset, self.relation[place], self.weight[place], self.age[place])
