"""How the forecasts of the last steps turned out, so that the next ones follow data that change."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.events.calibration import default_map, fit_map, map_inputs
from titer.events.index import EventIndex
from titer.events.network import MAX_LOG_INTENSITY, IntensityNetwork
from titer.events.rows import inputs_of

NUM_EVENTS = 8000
"""Facts of the last steps that a correction is fitted on: no more steps than have so many facts together."""
NEGATIVES = 4
"""Facts to draw that do not happen, for each fact of a step; frequent ones are drawn more often."""
RIDGE = 20.0
"""Strength of the pull towards the map that changes nothing, in nats."""
RELATION_PRIOR = 30.0
"""Strength of the pull of the shift of each relation towards 0, in nats."""
MAX_SHIFT = 2.0
"""No relation becomes more than about seven times as frequent, or as rare."""
ROUNDS = 4
"""Steps of Fisher's scoring method that find the shifts."""


@dataclass(frozen=True)
class Correction:
    """What the last steps say about log intensities: a piecewise linear map, then a shift for each relation."""

    map: Tensor  # (NUM_MAP,)
    shift: Tensor  # (num_relations,)

    def __call__(self, found: Tensor, relation: Tensor) -> Tensor:
        """Return corrected log intensities; that of the first occurrence changes as much as that of any. (facts, 2)"""
        change = map_inputs(found[:, 0]) @ self.map + self.shift[relation] - found[:, 0]
        return (found + change[:, None]).clamp(max=MAX_LOG_INTENSITY)


@dataclass(frozen=True)
class Outcomes:
    """Forecasts of facts one step ahead, and what happened."""

    log_intensity: Tensor  # (facts,)
    happened: Tensor  # (facts,)
    weight: Tensor  # (facts,) makes up for sampling
    relation: Tensor  # (facts,)

    def split(self, sizes: list[int]) -> "list[Outcomes]":
        """Return the outcomes in parts of some sizes."""
        columns = (self.log_intensity, self.happened, self.weight, self.relation)
        return [Outcomes(*part) for part in zip(*(column.split(sizes) for column in columns), strict=True)]


class Drift:
    """The outcomes of forecasts of past steps, each from the facts before it. Those of the last steps are kept.

    Args:
        index: The facts.
        max_steps: Maximum number of steps that a correction is fitted on.
    """

    def __init__(self, index: EventIndex, max_steps: int):
        self.index, self.max_steps = index, max_steps
        self._kept: dict[int, Outcomes] = {}

    def before(self, networks: list[IntensityNetwork], elapsed: int) -> Correction:
        """Return the correction that makes the outcomes before a time most likely; later facts have no influence."""
        steps = self._steps(elapsed)
        missing = [step for step in steps if step not in self._kept]
        known = {**self._kept, **self._outcomes(networks, missing)} if missing else self._kept
        self._kept = {step: known[step] for step in steps}
        names = ("log_intensity", "happened", "weight", "relation")
        with torch.inference_mode(mode=False):
            if not steps:
                device = self.index.keys.device
                return Correction(default_map().to(device), torch.zeros(self.index.num_relations, device=device))
            columns = (torch.cat([getattr(one, name) for one in self._kept.values()]).clone() for name in names)
            found = Outcomes(*columns)
            map = fit_map(found.log_intensity, found.happened, found.weight, ridge=RIDGE)
            return Correction(map, _shifts(found, map_inputs(found.log_intensity) @ map, self.index.num_relations))

    def _steps(self, elapsed: int) -> list[int]:
        """Return the last steps with facts before a time, except for the first, which nothing precedes."""
        state = self.index.by_nothing.state_at(elapsed)
        if not bool(state.exists[0]):
            return []
        # Where the data end earlier, that nothing is known of the steps since does not mean that nothing happened.
        last = elapsed - int(state.age[0])
        steps, number = list[int](), 0
        for step in range(last, max(last - self.max_steps, 0), -1):
            steps.append(step)
            number += len(self.index.facts_at(step))
            if number >= NUM_EVENTS:
                break
        return steps

    @torch.inference_mode()
    def _outcomes(self, networks: list[IntensityNetwork], steps: list[int]) -> dict[int, Outcomes]:
        """Return the outcomes of steps, which are forecast together."""
        drawn = [self._drawn(step) for step in steps]
        place, elapsed, happened, weight = (torch.cat(column) for column in zip(*drawn, strict=True))
        triples = self.index.triples[place]
        ahead, relation = torch.ones_like(elapsed), triples.relation
        features, bag, targets = inputs_of(self.index, triples, elapsed, ahead)
        found = [
            network(
                network.encode(features, relation, network.pool(bag)), relation, network.recall(bag, ahead), targets
            )
            for network in networks
        ]
        every = Outcomes(torch.stack(found).mean(dim=0)[:, 0], happened, weight, relation)
        return dict(zip(steps, every.split([len(one[0]) for one in drawn]), strict=True))

    def _drawn(self, step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return facts that occurred before a step: all that happen again, and others drawn by their rates."""
        index = self.index
        place = index.before(step)
        elapsed = torch.full_like(place, step)
        rate = index.by_triple.state(place, elapsed).mean_rate(elapsed)
        happened = index.occurs(place, elapsed)
        number = NEGATIVES * len(index.facts_at(step))
        chance = torch.where(happened, 1.0, (rate / rate.sum() * number).clamp(max=1.0))
        generator = torch.Generator().manual_seed(step)
        rows = (torch.rand(len(place), generator=generator).to(place.device) < chance).nonzero()[:, 0]
        return place[rows], elapsed[rows], happened[rows], 1 / chance[rows]


def _shifts(found: Outcomes, log_intensity: Tensor, num_relations: int) -> Tensor:
    """Return the shift of each relation that makes its outcomes most likely, near 0. (num_relations,)"""
    shift = torch.zeros(num_relations, device=log_intensity.device)
    zero = torch.zeros_like(shift)
    for _ in range(ROUNDS):
        intensity = torch.exp((log_intensity + shift[found.relation]).clamp(-20, MAX_LOG_INTENSITY))
        odds = torch.expm1(intensity)
        slope = torch.where(found.happened, intensity / odds, -intensity) * found.weight
        curvature = intensity.square() / odds * found.weight
        total = zero.index_add(0, found.relation, slope) - RELATION_PRIOR * shift
        shift = shift + total / (zero.index_add(0, found.relation, curvature) + RELATION_PRIOR)
    return shift.clamp(-MAX_SHIFT, MAX_SHIFT)
