"""Choose the calibration of event forecasts on the validation split."""

from collections.abc import Iterator, Sequence
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
from titer.events.estimates import Estimates
from titer.events.index import EventIndex
from titer.events.new_facts import new_intensities
from titer.events.origin import Origin, is_forward
from titer.events.triples import Triples
from titer.graph.history import History
from titer.models.base import Model
from titer.progress import track

if TYPE_CHECKING:
    from titer.events.model import EventModel

MIN_ORIGINS = 5
"""Forecasts that a horizon is fitted on at least, if there are as many steps."""
MAX_WINDOWS = 9
"""Windows of each length that the map of windows is fitted on."""
SURE = 0.01
"""Facts that are at least this likely are all used; of the others that do not happen, a part that grows with it."""
MIN_CHANCE = 0.05


def fit_calibration(events: "EventModel", model: Model, history: History, steps: range) -> None:
    """Fit the calibration at each horizon, on forecasts of validation steps."""
    index, calibration = events.indexed(history).index, events.calibration
    collected = {ahead: _Collected() for ahead in HORIZONS}
    windows: dict[int, list[_Window]] = {length: [] for length in HORIZONS[1:]}
    spread = _evenly(steps, events.config.calibration_steps)
    begins = {
        length: set(_evenly([step for step in spread if step + length - 1 <= steps[-1]], MAX_WINDOWS))
        for length in windows
    }
    origins = _origins(steps, spread, index.first_time + 1)
    generator = torch.Generator().manual_seed(events.config.seed)
    for step, horizons in track(sorted(origins.items()), "event model, calibration"):
        origin = events.origin(model, history, step)
        for ahead in horizons:
            collected[ahead].add(events, index, origin, ahead, generator)
        for length, chosen in begins.items():
            if step in chosen:
                windows[length].append(_window(events, index, origin, length, generator))
    for place, ahead in enumerate(HORIZONS):
        if collected[ahead].repeated:
            collected[ahead].fit(calibration, place)
        elif place:  # as good as the horizon before
            for values in (
                calibration.repeated,
                calibration.step,
                calibration.paired,
                calibration.new,
                calibration.unlisted,
            ):
                values[place] = values[place - 1]
    for place, length in enumerate(HORIZONS[1:], start=1):
        if len(windows[length]) >= 2:
            _fit_windows(events, windows[length], place)
        else:
            calibration.window[place] = calibration.window[place - 1]


def _origins(steps: range, spread: Sequence[int], first: int) -> dict[int, list[int]]:
    """Return the first steps of forecasts, each with the steps ahead at which a validation step follows.

    An origin serves all horizons that end within the validation split. Where too few do, others begin before it.
    """
    origins: dict[int, list[int]] = {}
    for ahead in HORIZONS:
        chosen = [step for step in spread if step + ahead - 1 <= steps[-1]]
        if len(chosen) < MIN_ORIGINS:
            chosen = [step - ahead + 1 for step in _evenly(steps, MIN_ORIGINS)]
        for origin in chosen:
            if origin >= first:
                origins.setdefault(origin, []).append(ahead)
    return origins


@dataclass
class _Collected:
    """What the combination at one horizon is fitted on: inputs, what happened, and the weights of rows."""

    repeated: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list[tuple[Tensor, Tensor, Tensor]])
    paired: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list[tuple[Tensor, Tensor, Tensor]])
    new: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list[tuple[Tensor, Tensor, Tensor]])
    expected_new: float = 0.0
    happened_new: int = 0

    @torch.inference_mode()
    def add(
        self, events: "EventModel", index: EventIndex, origin: Origin, ahead: int, generator: torch.Generator
    ) -> None:
        """Add the forecasts from one origin."""
        target = origin.elapsed + ahead - 1
        happens = _happens(index, origin.repeated, target)
        rows, weight = _thinned(origin, happens, 1, generator)
        estimates = origin.estimates[rows]
        base = events.uncalibrated(origin, rows, ahead, ahead)[0][:, 0]
        inputs = repeated_inputs(base, origin.log_intensity[rows], estimates)
        self.repeated.append((inputs, happens[rows], weight))
        happens = _happens(index, origin.new.triples, target)
        for paired, parts in ((True, self.paired), (False, self.new)):
            rows = (origin.new.paired == paired).nonzero()[:, 0]
            new = origin.new[rows]
            if paired:
                first, base = (
                    new_intensities(events.intensity_networks, origin.table, new, step)[:, 0] for step in (1, ahead)
                )
                inputs = repeated_inputs(base, first, new.estimates)
            else:
                inputs = new_inputs(new.estimates)
            parts.append((inputs, happens[rows], torch.ones_like(new.estimates.forward)))
        self.expected_new += float(origin.novelty[is_forward(index, origin)].sum())
        self.happened_new += int((index.began[index.facts_at(target)] >= origin.elapsed).sum())

    def fit(self, calibration: Calibration, place: int) -> None:
        """Fit the combination."""
        inputs, happened, weight = _joined(self.repeated)
        calibration.repeated[place] = found = fit_linear(inputs, happened, default_repeated(), weight)
        calibration.step[place] = fit_map(inputs @ found, happened, weight)
        calibration.paired[place] = fit_linear(*_joined(self.paired)[:2], default_repeated())
        calibration.new[place] = fit_linear(*_joined(self.new)[:2], default_new())
        calibration.unlisted[place] = self.happened_new / self.expected_new if self.expected_new else 1.0


def _happens(index: EventIndex, triples: Triples, target: int) -> Tensor:
    return index.occurs(index.find(triples), torch.full_like(triples.subject, target))


def _thinned(origin: Origin, happens: Tensor, steps: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return rows that are enough to fit on, and the weights that make up for those left out."""
    chance = (torch.exp(origin.log_intensity) * steps / SURE).clamp(MIN_CHANCE, 1.0)
    chance = torch.where(happens, 1.0, chance)
    rows = (torch.rand(len(chance), generator=generator).to(chance.device) < chance).nonzero()[:, 0]
    return rows, 1 / chance[rows]


@dataclass(frozen=True)
class _Window:
    """Facts in a window: log intensities of each step, estimates, what happened, and the weights of rows."""

    found: list[Tensor]
    in_first_step: Tensor
    estimates: Estimates
    happened: Tensor
    weight: Tensor


@torch.inference_mode()
def _window(
    events: "EventModel", index: EventIndex, origin: Origin, length: int, generator: torch.Generator
) -> _Window:
    elapsed = torch.full_like(origin.table.place, origin.elapsed)
    happened = index.next(origin.table.place, elapsed) < origin.elapsed + length
    rows, weight = _thinned(origin, happened, length, generator)
    found = events.uncalibrated(origin, rows, 1, length)
    return _Window(found, origin.log_intensity[rows], origin.estimates[rows], happened[rows], weight)


def _fit_windows(events: "EventModel", windows: list[_Window], place: int) -> None:
    """Fit the map of the summed intensity of a window."""

    def parts() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for one in windows:
            by = events.calibrated(one.found, one.in_first_step, one.estimates, 1)[1][-1]
            summed = -torch.log1p(-by.clamp(max=1 - 1e-7))
            yield torch.log(summed + 1e-12), one.happened, one.weight

    events.calibration.window[place] = fit_map(*_joined(list(parts())))


def _joined(parts: list[tuple[Tensor, Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    inputs, happened, weight = zip(*parts, strict=True)
    return torch.cat(inputs).clone(), torch.cat(happened).clone(), torch.cat(weight).clone()


def _evenly(steps: Sequence[int], number: int) -> list[int]:
    """Return at most ``number`` steps, evenly spread."""
    if len(steps) <= number:
        return list(steps)
    return [steps[round(place * (len(steps) - 1) / (number - 1))] for place in range(number)] if number > 1 else []
