"""How reliable forecasts are by how far they look ahead, measured on the validation split."""

from typing import Any, NamedTuple

from titer.data.dataset import Dataset
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.protocol import Past, Protocol
from titer.evaluation.task import EvaluationTask
from titer.runs.run import Run

MAX_QUERIES = 2000
MIN_QUERIES = 50
"""Horizons with fewer validation queries are not reported: their numbers would be chance."""


class Horizon(NamedTuple):
    """The top answers to queries of about the same horizon.

    Attributes:
        first: Fewest time steps between the last known fact and a query.
        last: Most time steps.
        queries: Number of queries.
        right: Share of top answers that were right, from 0 to 1.
        probability: Their mean probability.
    """

    first: int
    last: int
    queries: int
    right: float
    probability: float


def measure_horizons(run: Run, device: str = "auto", dataset: Dataset | None = None) -> list[Horizon]:
    """Measure the top answers by horizon, and store the result in the run.

    The validation queries are asked with the training facts alone, so that later ones look further ahead. Horizons
    are grouped by powers of two: 1, 2 to 3, 4 to 7, and so on.

    Args:
        run: A finished run.
        device: Where to compute.
        dataset: The dataset of the run, if the caller has it already. Its stored index of the training split is used,
            and none is stored in the run.

    Returns:
        The horizons with enough queries, nearest first; none without a validation split.
    """
    dataset = dataset or run.dataset
    found: list[Horizon] = []
    if len(dataset.valid):
        model = run.load_model(device)
        frozen = Protocol(past=Past.FROZEN_AT_TRAIN)
        task = EvaluationTask(dataset, "valid", frozen, model.device, max_queries=MAX_QUERIES)
        asked = evaluate_task(model, task, quiet=True)
        ahead = asked.queries.time - int(dataset.train.time.max())
        # Splits of benchmarks may overlap in time; such queries look at the past.
        for power in range(int(ahead.max().clamp(min=0)).bit_length()):
            first, last = 2**power, 2 ** (power + 1) - 1
            rows = ((ahead >= first) & (ahead <= last)).nonzero()[:, 0]
            if len(rows) >= MIN_QUERIES:
                right = asked.confidence.correct[rows].double().mean()
                probability = asked.confidence.probability[rows].double().mean()
                found.append(Horizon(first, last, len(rows), round(float(right), 4), round(float(probability), 4)))
    run.finish({**run.summary, "horizons": [one._asdict() for one in found]})
    return found


def horizons_of(summary: dict[str, Any]) -> tuple[Horizon, ...]:
    """Return the horizons of the summary of a training; none if they were not measured."""
    return tuple(Horizon(**row) for row in summary.get("horizons", []))


def overconfidence(horizons: tuple[Horizon, ...], ahead: int) -> Horizon | None:
    """Return the horizon of a question if probabilities were clearly too high there; None otherwise.

    Args:
        horizons: What ``measure_horizons`` returned.
        ahead: Time steps between the last known fact and the question. Beyond the last measured horizon, that one
            counts.
    """
    reached = [one for one in horizons if one.first <= ahead]
    if ahead < 2 or not reached:
        return None
    nearest = reached[-1]
    # Twice the standard error of a share of so many queries.
    noise = 2 * (nearest.right * (1 - nearest.right) / nearest.queries) ** 0.5
    return nearest if nearest.probability - nearest.right > max(noise, 0.02) else None
