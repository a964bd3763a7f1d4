"""From ranks to the numbers that are reported."""

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

HITS = (1, 3, 10)


@dataclass(frozen=True)
class Metrics:
    """Averages over a set of ranks. All but the mean rank lie between 0 and 1."""

    queries: int
    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    mean_rank: float

    @classmethod
    def of(cls, ranks: Tensor) -> "Metrics":
        """Average ranks, which must not be empty."""
        first, third, tenth = (float((ranks <= k).double().mean()) for k in HITS)
        return cls(len(ranks), float((1 / ranks).mean()), first, third, tenth, float(ranks.mean()))

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return asdict(self)


def by_group(ranks: Tensor, group: Tensor) -> dict[int, Metrics]:
    """Metrics of each group of queries, ordered by group."""
    order = torch.argsort(group, stable=True)
    groups, counts = torch.unique_consecutive(group[order], return_counts=True)
    parts = torch.split(ranks[order], counts.tolist())
    return {int(g): Metrics.of(part) for g, part in zip(groups, parts, strict=True)}
