"""Rates as forecasts: the baselines of event forecasts."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.events.counts import MIN_RATE, NUM_RATES, GroupState
from titer.events.index import EventIndex
from titer.events.network import MAX_LOG_INTENSITY, negative_log_likelihood
from titer.events.rows import sample_rows
from titer.training.optimisers import EagerLBFGS

RECENT = 30
"""Steps of the recent rate."""
NAMES = ("all-time rate", "last-30-steps rate", "mean of rates", "Poisson regression on counts")


@dataclass(frozen=True)
class Baselines:
    """The rates of facts that occurred before, and a Poisson regression on the counts of each fact alone."""

    weight: Tensor  # (NUM_RATES + 2,)

    def probabilities(self, index: EventIndex, place: Tensor, elapsed: int) -> dict[str, Tensor]:
        """Return the probability of facts, given by position, in one step after a time, by name of the baseline."""
        times = torch.full_like(place, elapsed)
        state = index.by_triple.state(place, times)
        rates = state.rates(times)
        inputs = _inputs(state, times)
        return {
            "all-time rate": rates[:, -1].clamp(max=1.0),
            "last-30-steps rate": self._recent(index, place, elapsed),
            "mean of rates": rates[:, 1:].mean(dim=1).clamp(max=1.0),
            "Poisson regression on counts": -torch.expm1(
                -torch.exp((inputs @ self.weight).clamp(max=MAX_LOG_INTENSITY))
            ),
        }

    @staticmethod
    def _recent(index: EventIndex, place: Tensor, elapsed: int) -> Tensor:
        """Return the share of the last steps in which each fact occurred."""
        times = torch.full_like(place, elapsed)
        start = max(elapsed - RECENT, 0)
        number = index.by_triple.state(place, times).number - index.by_triple.state(place, times * 0 + start).number
        return number / max(elapsed - start, 1)


def fit_baselines(index: EventIndex, end: int, num_rows: int = 100_000) -> Baselines:
    """Fit the regression on steps before ``end``, one step ahead."""
    rows = sample_rows(index, end, num_rows, torch.Generator().manual_seed(0))
    start = torch.zeros(NUM_RATES + 2, device=rows.triple.device)
    start[0], start[-2] = 0.0, 1.0
    one = (rows.ahead == 1).nonzero()[:, 0]
    if len(one) == 0:
        return Baselines(start)
    inputs = _inputs(index.by_triple.state(rows.triple[one], rows.elapsed[one]), rows.elapsed[one])
    weight = nn.Parameter(start)
    optimiser = EagerLBFGS([weight], max_iter=100, line_search_fn="strong_wolfe")
    happened, importance = rows.happened[one], rows.weight[one]

    def closure() -> Tensor:
        optimiser.zero_grad()
        errors = negative_log_likelihood((inputs @ weight).clamp(max=MAX_LOG_INTENSITY), happened)
        loss = (errors * importance).sum() / importance.sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    return Baselines(weight.detach())


def _inputs(state: GroupState, elapsed: Tensor) -> Tensor:
    """Return a constant, the logarithms of the rates, and that of the age. (facts, NUM_RATES + 2)"""
    rates = torch.log(state.rates(elapsed) + MIN_RATE)
    age = torch.log(state.age.clamp(min=1).float())
    return torch.cat([torch.ones_like(age)[:, None], rates, age[:, None]], dim=1)
