"""Counts of past events that decay exponentially with time, for many groups of events."""

from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

HORIZONS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
"""τ: time constants of the decay, in time steps. The first counts little but the previous step, the last nearly all."""
BLOCK = 8
"""Events of a group that are summed one after the other; sums of longer groups are made of those of blocks."""
MAX_DECAY_STEPS = 1 << 15
"""Steps after which the rest of a count is too small for a sum to change: less than 1e-14 at every horizon."""


class DecayedCounts:
    r"""Events in groups, and for each event the decayed counts of its group up to and including it.

    For a group with events at t₁ < t₂ < …, the counts at event i are :math:`c_i^h = \sum_{j \le i} m_j
    e^{-(t_i - t_j)/\tau_h}`, where m_j is the number of events at t_j. Because the decay is exponential, the counts of
    a group at any later time t are one look-up and one product: :math:`\sum_{t_j < t} m_j e^{-(t - t_j - 1)/\tau_h} =
    c_i^h \, e^{-(t - t_i - 1)/\tau_h}` with i the last event before t. An event in the time step before t counts 1 at
    every horizon.

    Takes 40 bytes per distinct pair of group and time.

    Attributes:
        key: Group and elapsed time of each event, ``group << 32 | elapsed``, in ascending order. Shape (events,).
        number: Number of events of the group up to and including each. Shape (events,).
        counts: Their decayed counts. Shape (events, horizons).
        horizons: The time constants of the decay. Shape (horizons,).
    """

    def __init__(self, group: Tensor, elapsed: Tensor):
        key, repeats = np.unique(((group << TIME_BITS) + elapsed).cpu().numpy(), return_counts=True)
        columns = (torch.from_numpy(column) for column in (key, *count_events(key, repeats)))
        self._keep(*(column.to(group.device) for column in columns))

    @classmethod
    def of_columns(cls, key: Tensor, number: Tensor, counts: Tensor) -> "DecayedCounts":
        """Return counts that were computed before."""
        made = object.__new__(cls)
        made._keep(key, number, counts)
        return made

    def _keep(self, key: Tensor, number: Tensor, counts: Tensor) -> None:
        self.key, self.number, self.counts = key, number, counts
        self.horizons = torch.tensor(HORIZONS, device=key.device)

    @cached_property
    def elapsed(self) -> Tensor:
        """The elapsed time of every event; computed when first used. (events,)"""
        return self.key & LAST_STEP

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

    def elapsed_of(self, event: Tensor) -> Tensor:
        """Return the elapsed time of some events. (events,)"""
        return self.key.index_select(0, event) & LAST_STEP

    def age_at(self, event: Tensor, elapsed: int | Tensor) -> Tensor:
        """Return the age of events at a later time, in time steps. (events,)"""
        return elapsed - self.elapsed_of(event)


def decay(age: Tensor, horizons: Tensor) -> Tensor:
    """Return the exponential kernels of some ages: 1 for an event one time step ago. (events, horizons)"""
    # Groups without an event before the time refer to some other event, of any age; the clamp prevents an overflow.
    return torch.exp(-(age.clamp(min=1) - 1)[:, None] / horizons)


def count_events(
    key: NDArray[np.int64], repeats: NDArray[np.integer]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Count the events of each group up to and including each event.

    Args:
        key: Group and elapsed time, ``group << 32 | elapsed``, ascending and distinct. Shape ``(events,)``.
        repeats: How often each event occurred. Shape ``(events,)``.

    Returns:
        The numbers, of shape ``(events,)``, and the decayed counts, of shape ``(events, horizons)``.
    """
    position = np.arange(len(key))
    begins = np.ones(len(key), dtype=bool)
    begins[1:] = (key[1:] >> TIME_BITS) != (key[:-1] >> TIME_BITS)
    first = np.maximum.accumulate(np.where(begins, position, 0))
    total = np.cumsum(repeats, dtype=np.int64)
    number = (total - (total - repeats)[first]).astype(np.float32)
    counts = np.empty((len(key), len(HORIZONS)), dtype=np.float32)
    counts[:] = repeats[:, None]
    _add_earlier(counts, key & LAST_STEP, position - first)
    return number, counts


def _add_earlier(value: NDArray[np.float32], elapsed: NDArray[np.int64], rank: NDArray[np.integer]) -> None:
    """Add to the value of each event, in place, the decayed values of all earlier events of its group.

    ``rank`` is the number of earlier events of the group. Each block of a group is summed event by event, all blocks
    at once. The sums of complete blocks are then treated as events themselves, and added to the later blocks.
    """
    place = rank % BLOCK
    for step in range(1, BLOCK):
        row = np.flatnonzero(place == step)
        if len(row) == 0:
            return  # no group has more events
        _add(value, row, value.take(row - 1, axis=0), elapsed.take(row) - elapsed.take(row - 1))
    later = np.flatnonzero(rank >= BLOCK)
    if len(later) == 0:
        return
    end = np.flatnonzero(place == BLOCK - 1)
    sums = value.take(end, axis=0)
    _add_earlier(sums, elapsed.take(end), rank.take(end) // BLOCK)
    # The last event of the block before.
    before = np.searchsorted(end, later - place.take(later) - 1)
    _add(value, later, sums.take(before, axis=0), elapsed.take(later) - elapsed.take(end.take(before)))


def _add(
    value: NDArray[np.float32], row: NDArray[np.intp], earlier: NDArray[np.float32], steps: NDArray[np.int64]
) -> None:
    """Add values that have decayed over some steps to rows, in place."""
    earlier *= _decays().take(steps, axis=0, mode="clip")
    earlier += value.take(row, axis=0)
    # Numpy assigns whole rows faster as single items.
    item = np.dtype((np.void, value.itemsize * len(HORIZONS)))
    value.view(item)[row] = earlier.view(item)


@cache
def _decays() -> NDArray[np.float32]:
    """Return the factors by which counts decay over 0, 1, 2, ... steps; the last serves for more. (steps, horizons)"""
    steps = np.arange(MAX_DECAY_STEPS + 1, dtype=np.float64)
    return np.exp(-steps[:, None] / np.asarray(HORIZONS)).astype(np.float32)
