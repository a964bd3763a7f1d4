"""How often, how recently: counts of past events that fade, for many groups of events and any moment."""

from collections.abc import Callable

import torch
from torch import Tensor

from titer.graph.history import LAST_STEP, TIME_BITS

HORIZONS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
"""τ, in steps: how fast counts fade. The first knows only the step just before, the last forgets nothing."""
NEVER = 10_000
"""Steps since the last event of a group that has none."""
FLOOR = 0.01
"""What is added to a count before its logarithm is taken."""
NUM_FEATURES = len(HORIZONS) + 2


class DecayedCounts:
    r"""Events in groups, and for each event what its group has come to by then.

    For a group with events at t₁ < t₂ < …, an event i carries the counts :math:`c_i^h = \sum_{j \le i} m_j
    e^{-(t_i - t_j)/\tau_h}`, where m_j is how many events fell on t_j. An exponential that has faded from one moment
    goes on fading from there, so the sum over all of the past of a group at any later t is one look-up and one
    product: :math:`\sum_{t_j < t} m_j e^{-(t - t_j - 1)/\tau_h} = c_i^h \, e^{-(t - t_i - 1)/\tau_h}` with i the last
    event before t. The step just before a question counts 1 at every horizon.
    """

    def __init__(self, group: Tensor, elapsed: Tensor):
        self.key, repeats = torch.unique((group << TIME_BITS) + elapsed, return_counts=True)
        self.elapsed = self.key & LAST_STEP
        self.horizons = torch.tensor(HORIZONS, device=group.device)
        place = torch.arange(len(self.key), device=group.device)
        first = torch.searchsorted(self.key, self.key & ~LAST_STEP)
        self.number = _running(repeats.float()[:, None], place - first, lambda _gap: 1.0)[:, 0]
        self.counts = _running(
            repeats.float()[:, None].repeat(1, len(HORIZONS)),
            place - first,
            lambda gap: torch.exp(-(self.elapsed - self.elapsed[place - gap])[:, None] / self.horizons),
        )

    def last(self, group: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """The last event of each group strictly before a moment, and whether there is one."""
        event = torch.searchsorted(self.key, (group << TIME_BITS) + elapsed) - 1
        event = event.clamp(min=0)
        if len(self.key) == 0:
            return event, torch.zeros_like(event, dtype=torch.bool)
        found = self.key[event]
        return event, ((found >> TIME_BITS) == group) & ((found & LAST_STEP) < elapsed)

    def counts_at(self, event: Tensor, elapsed: int) -> Tensor:
        """The faded counts of the events' groups at a later moment. (events, horizons)"""
        return self.counts[event] * fading(elapsed - self.elapsed[event], self.horizons)

    def features_at(self, event: Tensor, elapsed: int) -> Tensor:
        """What a network gets to see of the events' groups at a later moment. (events, NUM_FEATURES)"""
        return features(self.counts_at(event, elapsed), self.number[event], elapsed - self.elapsed[event])

    def features_of(self, group: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """The features of groups, some of which may have no past, and which have one."""
        nothing = no_features(group.device).expand(len(group), -1)
        if len(self.key) == 0:
            return nothing, torch.zeros_like(group, dtype=torch.bool)
        event, exists = self.last(group, elapsed)
        return torch.where(exists[:, None], self.features_at(event, elapsed), nothing), exists


def fading(age: Tensor, horizons: Tensor) -> Tensor:
    """The kernels: 1 for an event one step ago, less for older ones. (events, horizons)"""
    # Rows of groups without a past point at some other event, of any age; they must not overflow.
    return torch.exp(-(age.clamp(min=1) - 1)[:, None] / horizons)


def features(counts: Tensor, number: Tensor, age: Tensor) -> Tensor:
    """Logarithms of faded counts, of the number of events and of the steps since the last one."""
    columns = [torch.log(counts + FLOOR), torch.log1p(number)[:, None], torch.log1p(age.clamp(min=1).float())[:, None]]
    return torch.cat(columns, dim=1) / 3  # mostly between -1.5 and 3: of the size that networks like


def no_features(device: torch.device) -> Tensor:
    """The features of a group without a past."""
    zero = torch.zeros(1, device=device)
    return features(torch.zeros(1, len(HORIZONS), device=device), zero, zero + NEVER)[0]


def _running(value: Tensor, length: Tensor, decay: Callable[[int], Tensor | float]) -> Tensor:
    """Sums over the events of a group up to each one, older ones decayed, in logarithmically many passes.

    ``length`` is how many events of its group lie before each event; ``decay(gap)`` is what becomes of a value on its
    way over that many events.
    """
    gap, longest = 1, int(length.max()) if len(length) else 0
    while gap <= longest:
        reaches = (length >= gap)[:, None]
        moved = torch.roll(value, gap, dims=0) * decay(gap)
        value = value + torch.where(reaches, moved, 0.0)
        gap *= 2
    return value
