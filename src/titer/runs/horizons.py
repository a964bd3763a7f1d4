"""How reliable forecasts are by how far they look ahead, measured on the validation split."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.evaluation.calibration import Confidence
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.protocol import Past, Protocol
from titer.evaluation.task import EvaluationTask, sampled_rows
from titer.runs.run import Run

MAX_QUERIES = 400
"""Queries of one horizon that are asked; of more, a sample."""
MIN_QUERIES = 50
"""Horizons with fewer validation queries are not reported: their numbers would be chance."""
MIN_STEPS = 8
"""A sample is taken from at least so many time steps of its horizon."""


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
        task = EvaluationTask(dataset, "valid", Protocol(past=Past.FROZEN_AT_TRAIN), model.device)
        # Splits of benchmarks may overlap in time; queries that do not look ahead are in no horizon.
        horizon = _powers(task.queries.time - int(dataset.train.time.max()))
        rows = _sample(horizon, task.queries.time)
        if len(rows):
            task.queries, task.answers = task.queries[rows], task.answers[rows]
            found = _measured(horizon[rows], evaluate_task(model, task, quiet=True).confidence)
    run.finish({**run.summary, "horizons": [one._asdict() for one in found]})
    return found


def _powers(ahead: Tensor) -> Tensor:
    """Return the horizons as powers of two; negative for queries that do not look ahead."""
    return torch.frexp(ahead.clamp(min=0).double()).exponent - 1


def _sample(horizon: Tensor, time: Tensor) -> Tensor:
    """Return the rows to ask, in order: so many of each horizon that has enough queries."""
    found = [torch.empty(0, dtype=torch.long)]
    for power in range(int(horizon.max()) + 1):
        rows = (horizon == power).nonzero()[:, 0]
        if len(rows) >= MIN_QUERIES:
            found.append(rows[sampled_rows(time[rows], MAX_QUERIES, MIN_STEPS)])
    return torch.cat(found).sort().values


def _measured(horizon: Tensor, confidence: Confidence) -> list[Horizon]:
    """Return the horizons of evaluated queries, nearest first."""
    found: list[Horizon] = []
    for power in horizon.unique().tolist():
        rows = horizon == power
        shares = (float(values[rows].double().mean()) for values in (confidence.correct, confidence.probability))
        found.append(Horizon(2**power, 2 ** (power + 1) - 1, int(rows.sum()), *(round(share, 4) for share in shares)))
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
