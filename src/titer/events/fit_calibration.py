"""Choose the calibration of event forecasts on the validation split."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from titer.events.calibration import (
    HORIZONS,
    default_new,
    default_repeated,
    default_window,
    fit_linear,
    new_inputs,
    repeated_inputs,
    window_inputs,
)
from titer.events.index import EventIndex
from titer.events.origin import Origin, is_forward, log_intensities
from titer.graph.history import History
from titer.models.base import Model

if TYPE_CHECKING:
    from titer.events.model import EventModel


def fit_calibration(events: "EventModel", model: Model, history: History, steps: range) -> None:
    """Fit the calibration at each horizon, with forecasts of validation steps from as many steps before."""
    index = events.indexed(history).index
    calibration = events.calibration
    first = index.first_time + 1
    for place, ahead in enumerate(HORIZONS):
        targets = [step for step in _evenly(steps, events.config.calibration_steps) if step - ahead + 1 >= first]
        if not targets:  # as good as the horizon before
            for values in (calibration.repeated, calibration.new, calibration.unlisted):
                values[place] = values[place - 1]
            continue
        _fit_step(events, model, history, index, targets, place, ahead)
        begins = _evenly(steps[: max(len(steps) - ahead + 1, 0)], events.config.calibration_steps // 2)
        if ahead > 1 and len(begins) >= 2:
            _fit_window(events, model, history, index, begins, place, ahead)
        elif ahead > 1:
            calibration.window[place] = calibration.window[place - 1]


def _fit_step(
    events: "EventModel", model: Model, history: History, index: EventIndex, targets: list[int], place: int, ahead: int
) -> None:
    """Fit the combination at a number of steps ahead."""
    repeated, new = list[tuple[Tensor, Tensor]](), list[tuple[Tensor, Tensor]]()
    novel, happened_new = 0.0, 0
    for step in targets:
        origin = events.origin(model, history, step - ahead + 1)
        target = step - index.first_time
        with torch.inference_mode():
            base = _base(events, index, origin, ahead)
            estimates = origin.estimates
            inputs = repeated_inputs(base, estimates.forward, estimates.backward, estimates.known)
            happened = index.occurs(index.find(origin.repeated), torch.full_like(origin.repeated.subject, target))
            repeated.append((inputs, happened))
            estimates = origin.new_estimates
            inputs = new_inputs(estimates.forward, estimates.backward, estimates.known)
            happened = index.occurs(index.find(origin.new), torch.full_like(origin.new.subject, target))
            new.append((inputs, happened))
            novel += float(origin.novelty[is_forward(index, origin)].sum())
            happened_new += int((index.began[index.facts_at(target)] >= origin.elapsed).sum())
    calibration = events.calibration
    calibration.repeated[place] = fit_linear(*_joined(repeated), default_repeated())
    calibration.new[place] = fit_linear(*_joined(new), default_new())
    calibration.unlisted[place] = happened_new / novel if novel else 1.0


def _fit_window(
    events: "EventModel", model: Model, history: History, index: EventIndex, begins: list[int], place: int, length: int
) -> None:
    """Fit the map of the summed intensity of a window."""
    parts = list[tuple[Tensor, Tensor]]()
    for step in begins:
        origin = events.origin(model, history, step)
        with torch.inference_mode():
            rows = torch.arange(len(origin.repeated), device=origin.pair.device)
            summed = -torch.log1p(-events.curves(index, origin, rows, 1, length)[1][-1].clamp(max=1 - 1e-7))
            inputs = window_inputs(summed)
            elapsed = torch.full_like(rows, origin.elapsed)
            happened = index.next(index.find(origin.repeated), elapsed) < origin.elapsed + length
            parts.append((inputs, happened))
    events.calibration.window[place] = fit_linear(*_joined(parts), default_window())


def _base(events: "EventModel", index: EventIndex, origin: Origin, ahead: int) -> Tensor:
    networks = events.intensity_networks
    return log_intensities(networks, index, origin.repeated, origin.codes, origin.fact, origin.elapsed, ahead)[:, 0]


def _joined(parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    inputs, happened = zip(*parts, strict=True)
    return torch.cat(inputs).clone(), torch.cat(happened).clone()


def _evenly(steps: range, number: int) -> list[int]:
    """Return at most ``number`` steps, evenly spread."""
    if len(steps) <= number:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (number - 1))] for place in range(number)] if number > 1 else []
