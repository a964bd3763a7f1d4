"""Metrics of ranks: MRR, Hits@k, mean rank."""

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

HITS = (1, 3, 10)
METRIC_HEADERS = ("queries", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank")
"""The column headers of ``metric_cells``."""


@dataclass(frozen=True)
class Metrics:
    """Averages over a set of ranks.

    Attributes:
        queries: How many queries were ranked.
        mrr: The mean reciprocal rank, between 0 and 1.
        hits_at_1: The share of ranks of at most 1, between 0 and 1.
        hits_at_3: The share of ranks of at most 3.
        hits_at_10: The share of ranks of at most 10.
        mean_rank: The mean rank, from 1.
    """

    queries: int
    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    mean_rank: float

    @classmethod
    def of(cls, ranks: Tensor) -> "Metrics":
        """Return the metrics of a set of ranks.

        Args:
            ranks: Ranks from 1; at least one. Shape (queries,).

        Returns:
            Their averages.
        """
        first, third, tenth = (float((ranks <= k).double().mean()) for k in HITS)
        return cls(len(ranks), float((1 / ranks).mean()), first, third, tenth, float(ranks.mean()))

    def to_dict(self) -> dict[str, float]:
        """Return the metrics by name, for JSON."""
        return asdict(self)


def metric_cells(metrics: Metrics) -> list[str]:
    """Return metrics as the cells of a table, with MRR and Hits@k times a hundred.

    Args:
        metrics: The metrics of one row.

    Returns:
        One text for each of ``METRIC_HEADERS``.
    """
    percentages = (metrics.mrr, metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10)
    return [f"{metrics.queries:,}", *(f"{100 * value:.2f}" for value in percentages), f"{metrics.mean_rank:.1f}"]


def by_group(ranks: Tensor, group: Tensor) -> dict[int, Metrics]:
    """Return the metrics of each group of queries, ordered by group.

    Args:
        ranks: The rank of each query. Shape (queries,).
        group: The group of each query. Shape (queries,).

    Returns:
        Metrics by group.
    """
    order = torch.argsort(group, stable=True)
    groups, counts = torch.unique_consecutive(group[order], return_counts=True)
    parts = torch.split(ranks[order], counts.tolist())
    return {int(g): Metrics.of(part) for g, part in zip(groups, parts, strict=True)}
