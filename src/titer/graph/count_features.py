"""Decayed counts as inputs of a neural network."""

from functools import cache

import torch
from torch import Tensor

from titer.graph.decayed_counts import HORIZONS, DecayedCounts

NEVER = 10_000
"""Age, in time steps, of the last event of a group without events."""
FLOOR = 0.01
"""Added to a count before its logarithm is taken."""
NUM_FEATURES = len(HORIZONS) + 2


def features(counts: Tensor, number: Tensor, age: Tensor) -> Tensor:
    """Return the logarithms of decayed counts, of the number of events, and of the age of the last one.

    Shape (groups, NUM_FEATURES), from (groups, horizons), (groups,) and (groups,).
    """
    columns = [torch.log(counts + FLOOR), torch.log1p(number)[:, None], torch.log1p(age.clamp(min=1).float())[:, None]]
    return torch.cat(columns, dim=1) / 3  # mostly between -1.5 and 3, a range that suits the inputs of a network


@cache
def no_features(device: torch.device) -> Tensor:
    """Return the features of a group without events; computed once for each device. (NUM_FEATURES,)"""
    # A tensor of inference mode could not be used in training.
    with torch.inference_mode(False), torch.no_grad():
        zero = torch.zeros(1, device=device)
        return features(torch.zeros(1, len(HORIZONS), device=device), zero, zero + NEVER)[0]


def features_at(counts: DecayedCounts, event: Tensor, elapsed: int | Tensor) -> Tensor:
    """Return the features of the events' groups at a later time. (events, NUM_FEATURES)"""
    return features(
        counts.counts_at(event, elapsed), counts.number.index_select(0, event), counts.age_at(event, elapsed)
    )


def features_of(counts: DecayedCounts, group: Tensor, elapsed: int | Tensor) -> tuple[Tensor, Tensor]:
    """Return the features of groups at a time, (groups, NUM_FEATURES), and which have an earlier event, (groups,)."""
    nothing = no_features(group.device).expand(len(group), -1)
    if len(counts.key) == 0:
        return nothing, torch.zeros_like(group, dtype=torch.bool)
    event, exists = counts.last(group, elapsed)
    return torch.where(exists[:, None], features_at(counts, event, elapsed), nothing), exists
