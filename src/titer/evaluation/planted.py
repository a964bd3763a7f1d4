"""Planted causes: whether a model predicts the planted facts of the small world, and shows their causes as evidence."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from titer.data.small_world import SmallWorld
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.metrics import Metrics
from titer.evaluation.task import EvaluationTask
from titer.models.base import Model, evaluating

Fact = tuple[int, int, int, int]


@dataclass(frozen=True)
class PlantedResult:
    """The result of a model on the planted facts of one kind, both queries of each."""

    metrics: Metrics
    ranked_first: int
    """How many queries have their true answer on the first rank, without ties."""
    causes_found: int
    """How many of them have best evidence that contains every cause of the fact."""


def share_of_causes_found(results: Iterable[PlantedResult]) -> float:
    """Return the share of queries with all causes in their evidence among those answered first; 0 if there are none."""
    results = list(results)
    return sum(result.causes_found for result in results) / max(sum(result.ranked_first for result in results), 1)


def evaluate_planted(model: Model, world: SmallWorld, split: str = "test") -> dict[str, PlantedResult]:
    """Rank the answers to both queries of every planted fact, and compare the best evidence with the planted causes.

    Evidence is compared only where the true answer is ranked first, since evidence for a wrong answer has no planted
    cause.

    Args:
        model: The model to evaluate.
        world: The small world, with the causes of its facts.
        split: ``train``, ``valid`` or ``test``.

    Returns:
        The result for each kind of planted fact.
    """
    task = EvaluationTask(world.dataset, split, device=model.device)
    found = evaluate_task(model, task, quiet=True)
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
        evidence = _best_evidence(model, task, first)
        hits = [
            {facts[cause] for cause in world.causes[rows[place]]} <= path
            for place, path in zip(first, evidence, strict=True)
        ]
        results[kind] = PlantedResult(Metrics.of(ranks[of_kind]), len(first), sum(hits))
    return results


def _rows(world: SmallWorld, split: str) -> list[int]:
    """Return the row of ``dataset.facts`` of every query of a split."""
    names = list(world.dataset.splits)
    start = sum(len(world.dataset.splits[name]) for name in names[: names.index(split)])
    return list(range(start, start + len(world.dataset.split(split)))) * 2


@torch.inference_mode()
def _best_evidence(model: Model, task: EvaluationTask, places: list[int]) -> list[set[Fact]]:
    """Return the facts of the strongest evidence for the true answer of each of some queries."""
    vocabulary = task.dataset.vocabulary
    best = []
    with evaluating(model):
        for place in places:
            query = task.queries[place : place + 1].to(model.device)
            evidence = model.explain(query, int(task.answers[place]), task.history, limit=1)
            best.append({edge.forward(vocabulary) for item in evidence for edge in item.path})
    return best
