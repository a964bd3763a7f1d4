"""The batches of an epoch."""

import torch
from torch import Tensor

from titer.graph.queries import Queries


def shuffled_batches(queries: Queries, size: int, *, by_time: bool) -> list[Tensor]:
    """Return every query once, in random batches of about ``size``; with ``by_time``, each of one time step."""
    device = queries.subject.device
    order = torch.randperm(len(queries)).to(device)
    if not by_time:
        return list(order.split(size))
    order = order[torch.argsort(queries.time[order], stable=True)]
    _, counts = torch.unique_consecutive(queries.time[order], return_counts=True)
    steps = order.split(counts.tolist())
    batches = [batch for step in steps for batch in step.chunk(max(1, round(len(step) / size)))]
    return [batches[i] for i in torch.randperm(len(batches)).tolist()]
