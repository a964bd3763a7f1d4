"""Choose the calibration of event forecasts on the validation split."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from titer.events.calibration import (
    HORIZONS,
    Calibration,
    default_new,
    default_repeated,
    fit_linear,
    fit_map,
    new_inputs,
    repeated_inputs,
)
from titer.events.index import EventIndex, Triples
from titer.events.origin import Origin, is_forward, log_intensities
from titer.graph.history import History
from titer.models.base import Model

if TYPE_CHECKING:
    from titer.events.model import EventModel

MIN_ORIGINS = 5
"""Forecasts that a horizon is fitted on at least, if there are as many steps."""
MAX_WINDOWS = 6
"""Windows that the map of windows is fitted on."""


def fit_calibration(events: "EventModel", model: Model, history: History, steps: range) -> None:
    """Fit the calibration at each horizon, on forecasts of validation steps."""
    index = events.indexed(history).index
    calibration = events.calibration
    collected = {ahead: _Collected() for ahead in HORIZONS}
    for origin, horizons in sorted(_origins(steps, index.first_time + 1, events.config.calibration_steps).items()):
        prepared = events.origin(model, history, origin)
        for ahead in horizons:
            collected[ahead].add(events, index, prepared, ahead)
    for place, ahead in enumerate(HORIZONS):
        if collected[ahead].repeated:
            collected[ahead].fit(calibration, place)
        elif place:  # as good as the horizon before
            for values in (calibration.repeated, calibration.step, calibration.new, calibration.unlisted):
                values[place] = values[place - 1]
    for place, length in enumerate(HORIZONS[1:], start=1):
        begins = _evenly(steps[: max(len(steps) - length + 1, 0)], MAX_WINDOWS)
        if len(begins) >= 2:
            _fit_window(events, model, history, index, begins, place, length)
        else:
            calibration.window[place] = calibration.window[place - 1]


def _origins(steps: range, first: int, number: int) -> dict[int, list[int]]:
    """Return the first steps of forecasts, each with the steps ahead at which a validation step follows.

    An origin serves all horizons that end within the validation split. Where too few do, others begin before it.
    """
    origins: dict[int, list[int]] = {}
    for ahead in HORIZONS:
        chosen = [step for step in _evenly(steps, number) if step + ahead - 1 <= steps[-1]]
        if len(chosen) < MIN_ORIGINS:
            chosen = [step - ahead + 1 for step in _evenly(steps, MIN_ORIGINS)]
        for origin in chosen:
            if origin >= first:
                origins.setdefault(origin, []).append(ahead)
    return origins


@dataclass
class _Collected:
    """What the combination at one horizon is fitted on."""

    repeated: list[tuple[Tensor, Tensor]] = field(default_factory=list[tuple[Tensor, Tensor]])
    new: list[tuple[Tensor, Tensor]] = field(default_factory=list[tuple[Tensor, Tensor]])
    expected_new: float = 0.0
    happened_new: int = 0

    @torch.inference_mode()
    def add(self, events: "EventModel", index: EventIndex, origin: Origin, ahead: int) -> None:
        """Add the forecasts from one origin."""
        target = origin.elapsed + ahead - 1
        estimates = origin.estimates
        networks = events.intensity_networks
        base = log_intensities(networks, index, origin.repeated, origin.codes, origin.fact, origin.elapsed, ahead)
        inputs = repeated_inputs(base[:, 0], estimates.forward, estimates.backward, estimates.known)
        self.repeated.append((inputs, _happens(index, origin.repeated, target)))
        estimates = origin.new_estimates
        inputs = new_inputs(estimates.forward, estimates.backward, estimates.known)
        self.new.append((inputs, _happens(index, origin.new, target)))
        self.expected_new += float(origin.novelty[is_forward(index, origin)].sum())
        self.happened_new += int((index.began[index.facts_at(target)] >= origin.elapsed).sum())

    def fit(self, calibration: Calibration, place: int) -> None:
        """Fit the combination."""
        inputs, happened = _joined(self.repeated)
        calibration.repeated[place] = found = fit_linear(inputs, happened, default_repeated())
        calibration.step[place] = fit_map(inputs @ found, happened)
        calibration.new[place] = fit_linear(*_joined(self.new), default_new())
        calibration.unlisted[place] = self.happened_new / self.expected_new if self.expected_new else 1.0


def _happens(index: EventIndex, triples: Triples, target: int) -> Tensor:
    return index.occurs(index.find(triples), torch.full_like(triples.subject, target))


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
            elapsed = torch.full_like(rows, origin.elapsed)
            happened = index.next(index.find(origin.repeated), elapsed) < origin.elapsed + length
            parts.append((torch.log(summed + 1e-12), happened))
    events.calibration.window[place] = fit_map(*_joined(parts))


def _joined(parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    inputs, happened = zip(*parts, strict=True)
    return torch.cat(inputs).clone(), torch.cat(happened).clone()


def _evenly(steps: range, number: int) -> list[int]:
    """Return at most ``number`` steps, evenly spread."""
    if len(steps) <= number:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (number - 1))] for place in range(number)] if number > 1 else []
