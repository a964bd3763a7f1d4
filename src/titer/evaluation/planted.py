"""Whether a forecaster finds what the small world planted, and for the right reason."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from titer.data.small_world import SmallWorld
from titer.evaluation.evaluate import Evaluation, evaluate, past_facts
from titer.evaluation.metrics import Metrics
from titer.graph.history import History
from titer.models.base import Model, evaluating

Fact = tuple[int, int, int, int]


@dataclass(frozen=True)
class PlantedResult:
    """What a model makes of the planted facts of one kind, both questions of each."""

    metrics: Metrics
    ranked_first: int
    """Questions whose true answer is ranked first, alone."""
    causes_found: int
    """Those of them whose best evidence contains every cause of the fact."""


def share_of_causes_found(results: Iterable[PlantedResult]) -> float:
    """Of all questions whose true answer is ranked first, how many are so for the right reason; 0 if there are none."""
    results = list(results)
    return sum(result.causes_found for result in results) / max(sum(result.ranked_first for result in results), 1)


def evaluate_planted(model: Model, world: SmallWorld, split: str = "test") -> dict[str, PlantedResult]:
    """Rank the answers to both questions of every planted fact, and hold the best evidence against its causes.

    The results are by kind. Evidence is looked at only where the true answer is ranked first: what led the model to a
    wrong answer is another question.
    """
    found = evaluate(model, world.dataset, split, quiet=True)
    ranks = found.ranks_under()
    facts = list(world.dataset.facts)
    rows = _rows(world, split)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        if world.causes[row]:
            places.setdefault(world.kinds[row], []).append(place)
    results = {}
    for kind, of_kind in sorted(places.items()):
        first = [place for place in of_kind if ranks[place] == 1]
        evidence = _best_evidence(model, found, first)
        hits = [
            {facts[cause] for cause in world.causes[rows[place]]} <= path
            for place, path in zip(first, evidence, strict=True)
        ]
        results[kind] = PlantedResult(Metrics.of(ranks[of_kind]), len(first), sum(hits))
    return results


def _rows(world: SmallWorld, split: str) -> list[int]:
    """The row of ``dataset.facts`` behind every question of a split."""
    names = list(world.dataset.splits)
    start = sum(len(world.dataset.splits[name]) for name in names[: names.index(split)])
    return list(range(start, start + len(world.dataset.split(split)))) * 2


@torch.inference_mode()
def _best_evidence(model: Model, found: Evaluation, places: list[int]) -> list[set[Fact]]:
    """The facts of the strongest evidence for the true answer of each of some questions."""
    vocabulary = found.dataset.vocabulary
    history = History(past_facts(found.dataset, found.split, found.protocol.past), vocabulary).to(model.device)
    best = []
    with evaluating(model):
        for place in places:
            query = found.queries[place : place + 1].to(model.device)
            evidence = model.explain(query, int(found.answers[place]), history, limit=1)
            best.append({edge.forward(vocabulary) for item in evidence for edge in item.path})
    return best
