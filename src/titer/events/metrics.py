"""Metrics of probabilities of events against what happened."""

from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

LENGTHS = (10, 100, 1000)
"""Lengths of the lists whose recall is measured."""
NUM_BINS = 10
MIN_PROBABILITY = 1e-6
"""Smallest probability in the log score, so that one surprise does not decide it."""


@dataclass(frozen=True)
class StepForecast:
    """The forecast events of one step (or of one window), with what happened.

    Attributes:
        probability: The probability of each listed event. Shape (events,).
        happened: Whether it happened. Shape (events,).
        repeated: Whether the fact occurred before the forecast. Shape (events,).
        usual: Its usual rate as a probability: the share of past steps with the fact. Shape (events,).
        num_repeated: All events that happened and had occurred before, listed or not.
        num_new: All events that happened for the first time, listed or not.
        unlisted: The expected number of events outside of the list.
    """

    probability: Tensor
    happened: Tensor
    repeated: Tensor
    usual: Tensor
    num_repeated: int
    num_new: int
    unlisted: float = 0.0

    @property
    def num_events(self) -> int:
        """The number of events that happened."""
        return self.num_repeated + self.num_new


@dataclass(frozen=True)
class EventBin:
    """Forecasts with similar probabilities."""

    forecasts: int
    """The number of forecasts."""
    probability: float
    """The mean of their probabilities."""
    frequency: float
    """The share of them that happened."""


@dataclass(frozen=True)
class EventMetrics:
    """How well the probabilities of events agree with what happened."""

    steps: int
    """The number of forecast steps (or windows) with at least one event."""
    events: int
    """The number of events that happened."""
    average_precision: float
    """Average precision of the list of a step; the mean over steps."""
    precision_at_n: float
    """Share of the first n that happened, n being the number of events of the step; the mean over steps."""
    recall: dict[int, float]
    """Share of the events of a step among the first k of the list, for several k; the mean over steps."""
    brier: float
    """Sum of squared errors over all listed events and those that were not listed, per event."""
    brier_skill: float
    """1 minus the Brier score divided by that of the usual rate; above 0 is better than the usual rate."""
    log_score: float
    """Negative log likelihood of all facts that occurred before, in nats per event; lower is better."""
    expected: float
    """Sum of all probabilities, with those of events outside of the list."""
    average_precision_repeated: float
    """Average precision of the facts that occurred before, among themselves."""
    average_precision_new: float
    """Average precision of the facts that never occurred before, among themselves."""
    expected_repeated: float
    """Sum of the probabilities of the facts that occurred before."""
    events_repeated: int
    """The number of events that had occurred before."""
    reliability: list[EventBin] = field(default_factory=list[EventBin])
    """Forecasts in bins of equal width by probability, without empty bins."""

    @property
    def expected_per_event(self) -> float:
        """Sum of all probabilities divided by the number of events; 1 is best."""
        return self.expected / max(self.events, 1)

    def worst_bin(self, min_events: int = 100) -> float | None:
        """Return the largest difference between probability and frequency of the bins with enough events.

        None if no bin has enough events.

        Args:
            min_events: The number of events that must have happened in a bin for it to count.
        """
        differences = (
            abs(b.probability - b.frequency) for b in self.reliability if b.forecasts * b.frequency >= min_events
        )
        return max(differences, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types, for JSON."""
        return {**asdict(self), "recall": {str(length): value for length, value in self.recall.items()}}


def measure(steps: list[StepForecast]) -> EventMetrics:
    """Return the metrics of the forecasts of several steps; steps without an event count only in sums and errors."""
    happening = [step for step in steps if step.num_events]
    events = max(sum(step.num_events for step in steps), 1)
    lists = [ranked(step.probability, step.happened) for step in happening]
    brier, usual = (_brier(steps, name) / events for name in ("probability", "usual"))
    listed = torch.cat([step.probability for step in steps]).double() if steps else torch.zeros(0)
    repeated = [(step.probability[step.repeated], step.happened[step.repeated]) for step in steps]
    return EventMetrics(
        steps=len(happening),
        events=sum(step.num_events for step in steps),
        average_precision=_mean(average_precision(y, s.num_events) for y, s in zip(lists, happening, strict=True)),
        precision_at_n=_mean(
            float(y[: s.num_events].sum()) / s.num_events for y, s in zip(lists, happening, strict=True)
        ),
        recall={
            length: _mean(float(y[:length].sum()) / s.num_events for y, s in zip(lists, happening, strict=True))
            for length in LENGTHS
        },
        brier=brier,
        brier_skill=1 - brier / usual if usual else 0.0,
        log_score=sum(_log_loss(p, y) for p, y in repeated) / max(sum(step.num_repeated for step in steps), 1),
        expected=float(listed.sum()) + sum(step.unlisted for step in steps),
        average_precision_repeated=_mean(
            average_precision(ranked(s.probability[s.repeated], s.happened[s.repeated]), s.num_repeated)
            for s in happening
            if s.num_repeated
        ),
        average_precision_new=_mean(
            average_precision(ranked(s.probability[~s.repeated], s.happened[~s.repeated]), s.num_new)
            for s in happening
            if s.num_new
        ),
        expected_repeated=sum(float(p.double().sum()) for p, _ in repeated),
        events_repeated=sum(step.num_repeated for step in steps),
        reliability=reliability(listed, torch.cat([step.happened for step in steps])) if steps else [],
    )


def ranked(probability: Tensor, happened: Tensor) -> Tensor:
    """Return which events of a list happened, most likely first; equal probabilities keep their order. (events,)"""
    return happened[torch.sort(probability, descending=True, stable=True).indices].double()


def average_precision(happened: Tensor, num_events: int) -> float:
    """Return the average precision of a ranked list; events that are not in it are never found."""
    hits = torch.cumsum(happened, dim=0)
    precision = hits / torch.arange(1, len(happened) + 1, device=happened.device)
    return float((precision * happened).sum()) / max(num_events, 1)


def reliability(probability: Tensor, happened: Tensor) -> list[EventBin]:
    """Return forecasts in bins of equal width by probability, without empty bins."""
    place = (probability * NUM_BINS).long().clamp(max=NUM_BINS - 1)
    groups = [place == number for number in range(NUM_BINS)]
    return [
        EventBin(int(g.sum()), float(probability[g].double().mean()), float(happened[g].double().mean()))
        for g in groups
        if bool(g.any())
    ]


def _brier(steps: list[StepForecast], column: str) -> float:
    errors = sum(float((getattr(step, column) - step.happened.float()).square().double().sum()) for step in steps)
    # An event outside of the list had a probability near 0.
    return errors + sum(step.num_events - int(step.happened.sum()) for step in steps)


def _log_loss(probability: Tensor, happened: Tensor) -> float:
    p = probability.double().clamp(MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return -float(torch.where(happened, p.log(), (1 - p).log()).sum())


def _mean(values: Any) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
