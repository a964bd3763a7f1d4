"""Evaluate event forecasts: for every step of a split, probabilities against what happened."""

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import DataError
from titer.events.baselines import NAMES, Baselines, fit_baselines
from titer.events.index import EventIndex
from titer.events.metrics import EventMetrics, StepForecast, measure
from titer.events.model import EventModel
from titer.events.origin import Origin
from titer.events.waiting import MODEL_ROW, WaitingMetrics, WaitingTimes
from titer.graph.stored_history import history_of
from titer.models.base import Model
from titer.progress import track

INCOMPLETE = 0.1
"""A last step with less than this share of the facts of other steps may be incomplete."""


@dataclass(frozen=True)
class EventEvaluation:
    """The metrics of event forecasts and of the baselines on one split.

    Attributes:
        model: Name of the model of the run.
        dataset: The dataset.
        split: The evaluated split.
        horizon: Steps ahead: each step is forecast with the facts before the step ``horizon - 1`` earlier.
        at_step: Metrics of the events of single steps, ``horizon`` steps ahead, by name of the forecast.
        in_window: Metrics of the events of windows of ``horizon`` steps, by name; empty where no window fits.
        waiting: Metrics of the time until facts happen, by name; empty unless asked for.
        until: The last evaluated step where it was given; None for that of the split.
        seconds: Duration.
    """

    model: str
    dataset: Dataset
    split: str
    horizon: int
    at_step: dict[str, EventMetrics]
    in_window: dict[str, EventMetrics]
    waiting: dict[str, WaitingMetrics] = field(default_factory=dict[str, WaitingMetrics])
    until: int | None = None
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types, for JSON."""
        return {
            "model": self.model,
            "dataset": {"name": self.dataset.name, "checksum": self.dataset.checksum},
            "split": self.split,
            "horizon": self.horizon,
            "at_step": {name: metrics.to_dict() for name, metrics in self.at_step.items()},
            "in_window": {name: metrics.to_dict() for name, metrics in self.in_window.items()},
            "waiting": {name: metrics.to_dict() for name, metrics in self.waiting.items()},
            "until": self.until,
            "seconds": round(self.seconds, 3),
        }


def evaluate_events(
    events: EventModel,
    model: Model,
    dataset: Dataset,
    split: str = "test",
    horizon: int = 1,
    *,
    until: int | None = None,
    waiting: bool = True,
    quiet: bool = False,
) -> EventEvaluation:
    """Evaluate event forecasts and the baselines.

    Args:
        events: The trained event model.
        model: The model of the run.
        dataset: The dataset.
        split: ``valid`` or ``test``.
        horizon: Steps ahead, and length of the windows.
        until: The last step to evaluate, such as the last complete one; None for that of the split.
        waiting: Whether to measure the time until facts happen too.
        quiet: Draw no progress bar.

    Raises:
        DataError: The split is unknown or empty, or begins after ``until``.
    """
    started = time.perf_counter()
    steps = evaluated_steps(dataset, split, until)
    history = history_of(dataset, split).to(model.device)
    index = events.indexed(history).index
    baselines = fit_baselines(index, int(dataset.train.time.max()) - index.first_time + 1)
    forecasts = {name: ([], []) for name in (MODEL_ROW, *NAMES)}
    times = WaitingTimes()
    # Each origin is prepared once: for the step it is ``horizon`` steps ahead of, its window, and waiting times.
    origins = range(max(steps[0] - horizon + 1, index.first_time + 1), steps[-1] + 1)
    for first in origins if quiet else track(list(origins), f"evaluating events on {split}"):
        origin = events.origin(model, history, first)
        ends = first + horizon - 1 <= steps[-1]
        if ends:
            _add_step(events, baselines, index, origin, horizon, horizon, forecasts, 0)
        if horizon > 1 and first in steps and ends:
            _add_step(events, baselines, index, origin, 1, horizon, forecasts, 1)
        if waiting and first in steps:
            times.add(events, baselines, index, origin, steps[-1] - first + 1)
    return EventEvaluation(
        model=model.name,
        dataset=dataset,
        split=split,
        horizon=horizon,
        at_step={name: measure(parts[0]) for name, parts in forecasts.items() if parts[0]},
        in_window={name: measure(parts[1]) for name, parts in forecasts.items() if parts[1]},
        waiting=times.metrics(),
        until=until,
        seconds=time.perf_counter() - started,
    )


def evaluated_steps(dataset: Dataset, split: str, until: int | None = None) -> range:
    """Return the steps of a split, up to the last one to evaluate.

    Raises:
        DataError: The split is unknown or empty, or begins after ``until``.
    """
    facts = dataset.split(split)
    begin, end = int(facts.time.min()), int(facts.time.max())
    if until is not None and until < begin:
        raise DataError(
            f"the {split} split begins at {dataset.axis.label(begin)}, after {dataset.axis.label(until)}, "
            "the last step to evaluate"
        )
    return range(begin, (end if until is None else min(end, until)) + 1)


def seems_incomplete(facts: Facts) -> bool:
    """Return whether the last time step has so much fewer facts than the others that the data may end within it."""
    numbers = np.unique(facts.time, return_counts=True)[1].tolist()
    return len(numbers) > 2 and numbers[-1] < INCOMPLETE * statistics.median(numbers[:-1])


@torch.inference_mode()
def _add_step(
    events: EventModel,
    baselines: Baselines,
    index: EventIndex,
    origin: Origin,
    first: int,
    last: int,
    forecasts: dict[str, tuple[list[StepForecast], list[StepForecast]]],
    place: int,
) -> None:
    """Add the forecasts of one window, by the event model and by the baselines."""
    listed = events.forecast(index, origin, first, last)
    begin, end = origin.elapsed + first - 1, origin.elapsed + last - 1
    position = index.find(listed.triples)
    happened = index.next(position, torch.full_like(position, begin)) <= end
    occurring = torch.unique(torch.cat([index.facts_at(step) for step in range(begin, end + 1)]))
    num_repeated = int((index.began[occurring] < origin.elapsed).sum())
    usual = 1 - (1 - (listed.number / origin.elapsed).clamp(max=1.0)) ** (last - first + 1)
    # Metrics are computed on the CPU: a list of each step is kept.
    common = happened.cpu(), listed.repeated.cpu(), usual.cpu(), num_repeated, len(occurring) - num_repeated
    forecasts[MODEL_ROW][place].append(_step(listed.probability, *common, unlisted=listed.unlisted))
    repeated = listed.repeated.nonzero()[:, 0]
    rows = repeated.cpu()
    common = happened.cpu()[rows], listed.repeated.cpu()[rows], usual.cpu()[rows], *common[3:]
    for name, probability in baselines.probabilities(index, position[repeated], origin.elapsed).items():
        forecasts[name][place].append(_step(1 - (1 - probability) ** (last - first + 1), *common))


def _step(
    probability: Tensor,
    happened: Tensor,
    repeated: Tensor,
    usual: Tensor,
    num_repeated: int,
    num_new: int,
    unlisted: float = 0.0,
) -> StepForecast:
    return StepForecast(probability.cpu(), happened, repeated, usual, num_repeated, num_new, unlisted)
