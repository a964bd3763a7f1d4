"""Decayed counts of facts by any key, and their rates as inputs of a network."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from titer.graph.decayed_counts import HORIZONS, DecayedCounts, decay

NUM_RATES = len(HORIZONS) + 1
"""Rates of a group: one for each horizon of the decay, and that over all time."""
NUM_FEATURES = NUM_RATES + 3
MEAN_RATE = NUM_RATES
"""Column of the logarithm of the mean rate among the features of a group."""
SCALE = 3.0
"""Divisor of logarithms, which brings the features to a similar scale."""
NEVER = 1000
"""Age, in time steps, of the last fact of a group without facts."""
MIN_RATE = 1e-3
"""Added to a rate before its logarithm is taken."""


@dataclass(frozen=True)
class GroupState:
    """What is known of some groups at some times."""

    counts: Tensor  # (groups, horizons) decayed counts
    number: Tensor  # (groups,) facts so far
    age: Tensor  # (groups,) time steps since the last fact; NEVER without one
    event: Tensor  # (groups,) position of the last fact in the counts; meaningless without one
    exists: Tensor  # (groups,) whether there is a fact so far

    def __getitem__(self, rows: Tensor) -> "GroupState":
        columns = (self.counts, self.number, self.age, self.event, self.exists)
        return GroupState(*(column[rows] for column in columns))

    def minus(self, other: "GroupState") -> "GroupState":
        """Return the state without the facts of a part of each group. The age of the last fact stays as it is."""
        counts, number = (self.counts - other.counts).clamp(min=0), (self.number - other.number).clamp(min=0)
        exists = number > 0.5
        age = torch.where(exists, self.age, NEVER)
        return GroupState(torch.where(exists[:, None], counts, 0.0), number, age, self.event, exists)

    def rates(self, elapsed: Tensor) -> Tensor:
        """Return facts per time step at each horizon, and over all time. (groups, NUM_RATES)

        Dividing by the largest count that the elapsed time allows keeps rates comparable early and late in the data.
        """
        horizons = torch.tensor(HORIZONS, device=elapsed.device)
        most = (1 - torch.exp(-elapsed[:, None] / horizons)) / (1 - torch.exp(-1 / horizons))
        return torch.cat([self.counts / most.clamp(min=1), (self.number / elapsed.clamp(min=1))[:, None]], dim=1)

    def mean_rate(self, elapsed: Tensor) -> Tensor:
        """Return the mean of the rates over all horizons but the shortest. (groups,)"""
        return self.rates(elapsed)[:, 1:].mean(dim=1)

    def features(self, elapsed: Tensor) -> Tensor:
        """Return the logarithms of rates, of their mean, of the number and of the age. (groups, NUM_FEATURES)"""
        rates = self.rates(elapsed)
        columns = [
            torch.log(rates + MIN_RATE),
            torch.log(rates[:, 1:].mean(dim=1, keepdim=True) + MIN_RATE),
            torch.log1p(self.number)[:, None],
            torch.log(self.age.clamp(min=1).float())[:, None],
        ]
        return torch.cat(columns, dim=1) / SCALE


class GroupedCounts:
    """The decayed counts of facts that are grouped by a key.

    Args:
        key: The key of the group of each fact. Shape (facts,).
        elapsed: The time of each fact, in time steps since the first. Shape (facts,).
    """

    def __init__(self, key: Tensor, elapsed: Tensor):
        self.keys, group = torch.unique(key, return_inverse=True)
        self.counts = DecayedCounts(group, elapsed)

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, key: Tensor) -> Tensor:
        """Return the group of each key; a key without facts gets a group after the last, which has none."""
        if len(self.keys) == 0:
            return torch.zeros_like(key)
        place = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
        return torch.where(self.keys[place] == key, place, len(self.keys))

    def state(self, group: Tensor, elapsed: Tensor) -> GroupState:
        """Return the state of groups, each before its own time."""
        if len(self.keys) == 0:
            zero = torch.zeros(len(group), device=group.device)
            nothing = torch.zeros_like(group)
            counts = torch.zeros(len(group), len(HORIZONS), device=group.device)
            return GroupState(counts, zero, nothing + NEVER, nothing, nothing.bool())
        event, exists = self.counts.last(group, elapsed)
        age = torch.where(exists, elapsed - self.counts.elapsed[event], NEVER)
        counts = self.counts.counts[event] * decay(age, self.counts.horizons)
        return GroupState(
            torch.where(exists[:, None], counts, 0.0),
            torch.where(exists, self.counts.number[event], 0.0),
            age,
            event,
            exists,
        )

    def state_at(self, elapsed: int) -> GroupState:
        """Return the state of all groups before one time, and last that of a group without facts."""
        group = torch.arange(len(self.keys) + 1, device=self.keys.device)
        return self.state(group, torch.full_like(group, elapsed))

    def decayed_at(self, elapsed: int, horizon: int) -> Tensor:
        """Return the counts of all groups before one time at one horizon, and last 0 for a group without facts."""
        group = torch.arange(len(self.keys) + 1, device=self.keys.device)
        if len(self.keys) == 0:
            return torch.zeros(1, device=group.device)
        event, exists = self.counts.last(group, elapsed)
        age = (elapsed - self.counts.elapsed[event]).clamp(min=1)
        decayed = self.counts.counts[event, horizon] * torch.exp(-(age - 1) / HORIZONS[horizon])
        return torch.where(exists, decayed, 0.0)

    def state_of(self, key: Tensor, elapsed: Tensor) -> GroupState:
        """Return the state of the groups of some keys, each before its own time."""
        return self.state(self.find(key), elapsed)


def log_horizon(steps_ahead: Tensor) -> Tensor:
    """Return the logarithm of a number of steps ahead, scaled like the other features."""
    return torch.log(steps_ahead.float()) / math.log(30)
