"""Backtests: train and test again and again, as time goes on."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.evaluation.evaluate import evaluate
from titer.files import write_json
from titer.runs.baseline import baseline_of
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config

RESULTS = "backtest.json"


@dataclass(frozen=True)
class BacktestOrigin:
    """One training and test of a backtest.

    Attributes:
        start: The first time step of the test window; only earlier facts are trained on.
        dataset: Training and validation facts before ``start``, and the facts of the test window.
    """

    start: int
    dataset: Dataset

    @property
    def label(self) -> str:
        """The date of the first time step."""
        return self.dataset.axis.label(self.start)


def rolling_origins(dataset: Dataset, every: int, count: int, valid: int | None = None) -> list[BacktestOrigin]:
    """Return datasets that end at later and later times.

    The test windows follow each other without a gap and end with the last fact. Before each of them lies a validation
    window; all earlier facts are for training. Facts after a test window are not part of its dataset.

    Args:
        dataset: The dataset. Its splits do not matter.
        every: Length of the test windows, in time steps.
        count: Number of test windows at most.
        valid: Length of the validation windows, in time steps; by default that of the test windows.

    Returns:
        The origins, earliest first. Windows without facts, or without facts to train and validate on, are left out.

    Raises:
        TiterError: If no window has facts, and facts before it to train and validate on.
    """
    if every < 1 or count < 1 or (valid is not None and valid < 1):
        raise TiterError("a backtest needs windows of at least one time step, and at least one of them")
    facts, valid = dataset.facts.sorted_by_time(), valid or every
    end = int(facts.time.max()) + 1
    origins = []
    for start in range(end - every * count, end, every):
        first_valid, first_test, stop = np.searchsorted(facts.time, [start - valid, start, start + every])
        parts = facts[:first_valid], facts[first_valid:first_test], facts[first_test:stop]
        if all(len(part) for part in parts):
            cut = replace(dataset, train=parts[0], valid=parts[1], test=parts[2], attributes=None)
            origins.append(BacktestOrigin(start, cut))
    if not origins:
        raise TiterError(f"no window of {every} time steps has facts before it to train and validate on")
    return origins


def run_origin(origin: BacktestOrigin, config: Config, folder: Path, *, overwrite: bool = False) -> dict[str, Any]:
    """Train and test one origin into its own run directory; what an earlier call finished is not repeated.

    Args:
        origin: The origin.
        config: The model and its settings.
        folder: The folder of the backtest.
        overwrite: Replace an existing run.

    Returns:
        The result: origin, numbers of facts, metrics of the model and of the baseline.

    Raises:
        TiterError: If the run directory holds a run with other settings or data.
    """
    run = train(origin.dataset, config, folder / origin.label, overwrite=overwrite, resume=not overwrite)
    tested = [found for found in run.evaluations if found["split"] == "test"]
    found = tested[-1] if tested else _test(run, config.training.device)
    return {
        "origin": origin.label,
        "run": run.path.name,
        "train": len(origin.dataset.train),
        "valid": len(origin.dataset.valid),
        "test": len(origin.dataset.test),
        "metrics": found["metrics"],
        "novelty": found["breakdown"]["novelty"],
        "baseline": found.get("baseline"),
    }


def write_results(rows: list[dict[str, Any]], dataset: Dataset, config: Config, folder: Path) -> None:
    """Write the results of all origins to ``backtest.json``."""
    about = {"model": config.model_name, "dataset": dataset.name, "checksum": dataset.checksum}
    write_json(folder / RESULTS, {**about, "config": config.to_dict(), "origins": rows})


def _test(run: Run, device: str) -> dict[str, Any]:
    found = evaluate(run.load_model(device), run.dataset, "test")
    counted = baseline_of(run, found)
    return run.record(found, baseline=counted.to_dict() if counted is not None else None)
