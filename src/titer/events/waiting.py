"""Metrics of the time until a fact happens next."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from titer.events.baselines import Baselines
from titer.events.index import MAX_AHEAD, EventIndex
from titer.events.origin import Origin

if TYPE_CHECKING:
    from titer.events.model import EventModel

MAX_FACTS = 1000
"""Facts per step whose waiting times are measured: those that occurred last."""
MIN_STEPS = 10
"""Steps that must be left in the split, so that most waiting times are seen."""
EVERY = 7
"""Only every seventh step is an origin, since the waiting times of consecutive steps are nearly the same."""
MODEL_ROW = "titer"
"""Name of the event model's row beside the baselines."""


@dataclass(frozen=True)
class WaitingMetrics:
    """How well distributions of waiting times agree with those that came true; times end with the last step known."""

    forecasts: int
    """The number of forecasts."""
    crps: float
    """Continuous ranked probability score, in time steps; lower is better."""
    median_error: float
    """Mean absolute difference between the median forecast and what came true, in time steps."""

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types, for JSON."""
        return asdict(self)


@dataclass
class WaitingTimes:
    """Collects forecasts of waiting times."""

    errors: dict[str, list[Tensor]] = field(default_factory=dict[str, list[Tensor]])
    medians: dict[str, list[Tensor]] = field(default_factory=dict[str, list[Tensor]])
    calls: int = 0

    @torch.inference_mode()
    def add(
        self, events: "EventModel", baselines: Baselines, index: EventIndex, origin: Origin, steps_left: int
    ) -> None:
        """Measure the waiting times of the facts that occurred last, from one origin."""
        self.calls += 1
        length = min(steps_left, MAX_AHEAD)
        if (self.calls - 1) % EVERY or length < min(MIN_STEPS, MAX_AHEAD):
            return
        rows = origin.fact.age.topk(min(MAX_FACTS, len(origin.repeated)), largest=False).indices
        place = index.find(origin.repeated[rows])
        waited = index.next(place, torch.full_like(place, origin.elapsed)) - origin.elapsed + 1
        waited = waited.clamp(max=length + 1)  # later than the last step
        _, by, _ = events.curves(origin, rows, 1, length)
        self._record(MODEL_ROW, torch.stack(by, dim=1), waited)
        ahead = torch.arange(1, length + 1, device=rows.device)
        for name, probability in baselines.probabilities(index, place, origin.elapsed).items():
            self._record(name, 1 - (1 - probability[:, None]) ** ahead, waited)

    def _record(self, name: str, by: Tensor, waited: Tensor) -> None:
        ahead = torch.arange(1, by.shape[1] + 1, device=by.device)
        happened = (waited[:, None] <= ahead).float()
        self.errors.setdefault(name, []).append((by - happened).square().sum(dim=1).cpu())
        median = (by < 0.5).sum(dim=1) + 1
        self.medians.setdefault(name, []).append((median - waited).abs().float().cpu())

    def metrics(self) -> dict[str, WaitingMetrics]:
        """Return the metrics of each forecast, by name."""
        return {
            name: WaitingMetrics(
                sum(len(part) for part in parts),
                float(torch.cat(parts).double().mean()),
                float(torch.cat(self.medians[name]).double().mean()),
            )
            for name, parts in self.errors.items()
        }
