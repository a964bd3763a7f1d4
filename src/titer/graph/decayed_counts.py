"""Counts of past events that decay exponentially with time, for many groups of events."""

from collections.abc import Callable

import torch
from torch import Tensor

from titer.graph.history import LAST_STEP, TIME_BITS

HORIZONS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
"""τ: time constants of the decay, in time steps. The first counts little but the previous step, the last nearly all."""


class DecayedCounts:
    r"""Events in groups, and for each event the decayed counts of its group up to and including it.

    For a group with events at t₁ < t₂ < …, the counts at event i are :math:`c_i^h = \sum_{j \le i} m_j
    e^{-(t_i - t_j)/\tau_h}`, where m_j is the number of events at t_j. Because the decay is exponential, the counts of
    a group at any later time t are one look-up and one product: :math:`\sum_{t_j < t} m_j e^{-(t - t_j - 1)/\tau_h} =
    c_i^h \, e^{-(t - t_i - 1)/\tau_h}` with i the last event before t. An event in the time step before t counts 1 at
    every horizon.
    """

    def __init__(self, group: Tensor, elapsed: Tensor):
        self.key, repeats = torch.unique((group << TIME_BITS) + elapsed, return_counts=True)
        self.elapsed = self.key & LAST_STEP
        self.horizons = torch.tensor(HORIZONS, device=group.device)
        position = torch.arange(len(self.key), device=group.device)
        first = torch.searchsorted(self.key, self.key & ~LAST_STEP)
        self.number = _running(repeats.float()[:, None], position - first, lambda _gap: 1.0)[:, 0]
        self.counts = _running(
            repeats.float()[:, None].repeat(1, len(HORIZONS)),
            position - first,
            lambda gap: torch.exp(-(self.elapsed - self.elapsed[position - gap])[:, None] / self.horizons),
        )

    def last(self, group: Tensor, elapsed: int | Tensor) -> tuple[Tensor, Tensor]:
        """Return the last event of each group before a time, or each before its own, and whether there is one."""
        event = torch.searchsorted(self.key, (group << TIME_BITS) + elapsed) - 1
        event = event.clamp(min=0)
        if len(self.key) == 0:
            return event, torch.zeros_like(event, dtype=torch.bool)
        found = self.key.index_select(0, event)
        return event, ((found >> TIME_BITS) == group) & ((found & LAST_STEP) < elapsed)

    def counts_at(self, event: Tensor, elapsed: int | Tensor) -> Tensor:
        """Return the decayed counts of the events' groups at a later time. (events, horizons)"""
        return self.counts.index_select(0, event) * decay(self.age_at(event, elapsed), self.horizons)

    def age_at(self, event: Tensor, elapsed: int | Tensor) -> Tensor:
        """Return the age of events at a later time, in time steps. (events,)"""
        return elapsed - self.elapsed.index_select(0, event)


def decay(age: Tensor, horizons: Tensor) -> Tensor:
    """Return the exponential kernels of some ages: 1 for an event one time step ago. (events, horizons)"""
    # Groups without an event before the time refer to some other event, of any age; the clamp prevents an overflow.
    return torch.exp(-(age.clamp(min=1) - 1)[:, None] / horizons)


def _running(value: Tensor, length: Tensor, decay_over: Callable[[int], Tensor | float]) -> Tensor:
    """Return the decayed sum over the events of a group up to each event, in logarithmically many passes.

    ``length`` is the number of earlier events in the group of each event. ``decay_over(gap)`` is the factor by which
    the value of an event has decayed when ``gap`` more events of its group have followed.
    """
    gap, longest = 1, int(length.max()) if len(length) else 0
    while gap <= longest:
        reaches = (length >= gap)[:, None]
        moved = torch.roll(value, gap, dims=0) * decay_over(gap)
        value = value + torch.where(reaches, moved, 0.0)
        gap *= 2
    return value
