"""Training examples: facts that occurred before, at random steps, with whether they occur again."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from titer.events.config import EventConfig
from titer.events.index import MAX_AHEAD, EventIndex
from titer.events.pairings import Pairings
from titer.events.triples import Bag, Triples
from titer.graph.decayed_counts import HORIZONS

SHORT = HORIZONS.index(30.0)
"""The decay whose rate decides how likely a fact is to be drawn as a negative example."""
MIN_CHANCE = 0.005
"""Smallest chance of a new fact to be drawn as a negative example."""
MAX_COPIES = 8
"""Random numbers of steps ahead of an occurrence; more than one only for few facts."""
BASE_RATE = 0.003
"""Added to the rate of a fact, so that every fact can be drawn."""


@dataclass(frozen=True)
class Rows:
    """Examples (fact, first forecast step, steps ahead), with the weight that makes up for sampling."""

    triples: Triples
    triple: Tensor  # (rows,) position in the index
    elapsed: Tensor  # (rows,) only facts before this are used
    ahead: Tensor  # (rows,) 1 for the first forecast step
    happened: Tensor  # (rows,)
    weight: Tensor  # (rows,)
    is_first: Tensor  # (rows,) whether the fact does not occur between the first forecast step and this one

    def __len__(self) -> int:
        return len(self.triple)

    @classmethod
    def concatenate(cls, first: "Rows", second: "Rows") -> "Rows":
        """Return the examples of both."""
        names = ("triple", "elapsed", "ahead", "happened", "weight", "is_first")
        columns = (torch.cat([getattr(first, name), getattr(second, name)]) for name in names)
        return cls(Triples.concatenate(first.triples, second.triples), *columns)


def sample_rows(index: EventIndex, end: int, num_rows: int, generator: torch.Generator) -> Rows:
    """Draw examples whose steps are all before ``end``.

    Every occurrence is an example one step ahead, and some random numbers of steps ahead. Facts that do not occur are
    drawn in proportion to their recent rate, since those without recent facts are many and alike.
    """
    start = max(1, end // 10)
    # Positives: occurrences of facts with an earlier one.
    chosen = ((index.fact_elapsed >= start) & (index.fact_elapsed < end)).nonzero()[:, 0]
    copies = max(1, min(MAX_COPIES, num_rows // 3 // max(len(chosen), 1)))
    triple, target = (column[chosen].repeat(1 + copies) for column in (index.fact_triple, index.fact_elapsed))
    ahead = torch.cat([torch.ones_like(chosen), _random_ahead(copies * len(chosen), generator).to(chosen.device)])
    weight = torch.where(torch.arange(len(ahead), device=ahead.device) < len(chosen), 1.0, 1 / copies)
    elapsed = target - ahead + 1
    known = (elapsed >= 1) & (index.began[triple] < elapsed)
    share = min(1.0, num_rows / 3 / max(int(known.sum()), 1))
    kept = (known & (_random(len(known), generator).to(known.device) < share)).nonzero()[:, 0]
    parts = [(triple[kept], elapsed[kept], ahead[kept], weight[kept] / share)]
    # Negatives: at every step, facts that occurred before, one step ahead or a random number.
    steps = range(start, end)
    per_step = (num_rows - len(kept)) / max(len(steps), 1)
    for step in steps:
        parts.append(_sample_negatives(index, step, end, per_step, generator))
    triple, elapsed, ahead, weight = (torch.cat(column) for column in zip(*parts, strict=True))
    target = elapsed + ahead - 1
    happened = torch.arange(len(triple), device=triple.device) < len(kept)
    first = index.next(triple, elapsed) >= target
    return Rows(index.triples[triple], triple, elapsed, ahead, happened, weight, first)


def _sample_negatives(
    index: EventIndex, step: int, end: int, number: float, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    triple = index.before(step)
    elapsed = torch.full_like(triple, step)
    rate = index.by_triple.state(triple, elapsed).counts[:, SHORT] / HORIZONS[SHORT] + BASE_RATE
    chance = (rate / rate.sum() * number).clamp(max=1.0)
    drawn = (_random(len(triple), generator).to(triple.device) < chance).nonzero()[:, 0]
    triple, elapsed, chance = triple[drawn], elapsed[drawn], chance[drawn]
    one = _random(len(triple), generator) < 0.5
    ahead = torch.where(one, 1, _random_ahead(len(triple), generator)).to(triple.device)
    target = elapsed + ahead - 1
    kept = ((target < end) & ~index.occurs(triple, target)).nonzero()[:, 0]
    # Positives appear at both horizons, negatives at one of them: each counts twice.
    return triple[kept], elapsed[kept], ahead[kept], 2 / chance[kept]


def sample_new_rows(pairings: Pairings, end: int, config: EventConfig, generator: torch.Generator) -> Rows:
    """Draw examples of facts that never occurred between entities with other facts; all steps are before ``end``.

    At each of some steps, all candidates that happen one step ahead, or at a random number of steps, are examples.
    Those that do not are drawn in proportion to their rough scores.
    """
    index = pairings.index
    steps = range(max(1, end // 10), end)
    parts: list[tuple[Tensor, ...]] = []
    for step in steps[:: max(1, len(steps) // config.new_steps)]:
        found = pairings.before(step, config.new_relations)
        place = index.find(found.triples)
        chance = MIN_CHANCE + config.new_examples * found.score / found.score.sum().clamp(min=1e-9)
        for ahead in (1, int(_random_ahead(1, generator))):
            target = step + ahead - 1
            if target >= end:
                continue
            happens = index.occurs(place, torch.full_like(place, target))
            kept_with = torch.where(happens, 1.0, chance.clamp(max=1.0))
            drawn = (_random(len(place), generator).to(place.device) < kept_with).nonzero()[:, 0]
            times = torch.full_like(drawn, step)
            t = found.triples[drawn]
            parts.append(
                (
                    t.subject, t.relation, t.object, place[drawn], times, torch.full_like(times, ahead), happens[drawn],
                    1 / kept_with[drawn],
                )
            )  # fmt: skip
    if not parts:
        return sample_rows(index, 0, 0, generator)
    s, r, o, place, elapsed, ahead, happened, weight = (torch.cat(column) for column in zip(*parts, strict=True))
    first = index.next(place, elapsed) >= elapsed + ahead - 1
    return Rows(Triples(s, r, o), place, elapsed, ahead, happened, weight, first)


def inputs_of(
    index: EventIndex, triples: Triples, elapsed: Tensor, ahead: Tensor, size: int = 1 << 16
) -> tuple[Tensor, Bag, Tensor]:
    """Return the inputs of the network for facts: features, earlier facts of the pair, target features."""
    features, targets = [], []
    for start in range(0, max(len(triples), 1), size):
        part = slice(start, start + size)
        states = index.states(triples[part], elapsed[part])
        features.append(index.features(states, elapsed[part]))
        targets.append(index.target_features(triples[part], states["fact"], elapsed[part], ahead[part]))
    return torch.cat(features), index.bag(triples, elapsed), torch.cat(targets)


def _random(number: int, generator: torch.Generator) -> Tensor:
    return torch.rand(number, generator=generator)


def _random_ahead(number: int, generator: torch.Generator) -> Tensor:
    """Return numbers of steps from 2 to MAX_AHEAD, small ones more often."""
    exponent = torch.rand(number, generator=generator) * math.log(MAX_AHEAD)
    return (1 + torch.exp(exponent).long()).clamp(2, MAX_AHEAD)
