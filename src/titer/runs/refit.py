"""Training on all facts, with the number of epochs and the temperature that a validated run chose."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from titer.data.attributes import Attributes
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import RunError
from titer.runs.run import Run
from titer.runs.session import TrainingSession, training_session
from titer.trackers.base import Tracker
from titer.training.config import Config


def refit(
    run: Run,
    out: Path | str,
    dataset: Dataset | None = None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    trackers: Mapping[str, Tracker] | None = None,
) -> Run:
    """Train the model of a run once more, on all facts: those of the validation and test split too.

    What validation chose is kept: the number of epochs, the temperature, and the settings. Nothing is left to measure
    the result on; the evaluations of ``run`` are the best estimate of its quality.

    Args:
        run: A finished run with a validation split.
        out: The run directory to write.
        dataset: The facts to train on; by default those of the run. It may have more facts and entities.
        overwrite: Replace an existing run.
        resume: Continue an interrupted refit from its last checkpoint.
        trackers: Where to send the course of the training, by name; by default TensorBoard, if it is installed.

    Returns:
        The new run. Its dataset has a training split only.

    Raises:
        RunError: If the run is not finished.
        TiterError: If ``out`` holds anything that may not be overwritten, or training fails.
    """
    if not run.is_finished:
        raise RunError(f"{run.path}: training is not finished; continue with: titer train --out {run.path} --resume")
    known = dataset or run.dataset
    everything = _in_one_split(known)
    config = refit_config(run)
    with training_session(
        everything, config, Path(out), overwrite=overwrite, resume=resume, trackers=trackers
    ) as session:
        if not session.is_finished:
            _refit(session, run, known)
    return Run(out)


def _refit(session: TrainingSession, run: Run, known: Dataset) -> None:
    started = time.perf_counter()
    # A model that chooses settings in ``prepare`` does so on the same split again, with all facts as history.
    session.model.prepare(Facts.concatenate(known.train, known.test), known.valid)
    session.model.to(session.device)
    # All facts are in the training split of the copy in the run, so forecasts of the run use the index stored here.
    session.fit(session.run.dataset)
    chosen = {
        "run": run.path.resolve().name,
        "epochs": session.run.config.training.epochs,
        "evaluations": _metrics(run),
    }
    seconds = round(time.perf_counter() - started, 3)
    kept = {"temperature": 1.0} | {key: run.summary[key] for key in ("temperature", "horizons") if key in run.summary}
    session.finish({"seconds": seconds, **kept, "refit_of": chosen}, {})


def refit_config(run: Run) -> Config:
    """Return the configuration of a refit: that of a run, with the number of epochs that its validation chose."""
    training = run.config.training
    rows = [row for row in run.log_rows if "valid_mrr" in row]
    epochs = training.epochs
    if rows and training.keep == "best":
        epochs = max(rows, key=lambda row: row["valid_mrr"])["epoch"]
    return replace(run.config, training=replace(training, epochs=epochs, keep="last", patience=0))


def epochs_words(run: Run) -> str:
    """Say for how many epochs a refit trains; nothing for a model without epochs."""
    return f", for {refit_config(run).training.epochs} epochs" if run.log_rows else ""


def _in_one_split(dataset: Dataset) -> Dataset:
    """Return a dataset with all facts in the training split, in order of time."""
    order = np.argsort(dataset.facts.time, kind="stable")
    attributes = dataset.attributes
    if attributes is not None:
        attributes = Attributes({name: column.take(order) for name, column in attributes.columns.items()})
    parts = {"train": dataset.facts[order], "valid": Facts.empty(), "test": Facts.empty()}
    return replace(dataset, **parts, attributes=attributes)


def _metrics(run: Run) -> list[dict[str, object]]:
    """Return the metrics of a run, and of the run that it was itself refitted from."""
    earlier = run.summary.get("refit_of", {}).get("evaluations", [])
    kept = ("split", "queries", "protocol", "metrics")
    return [{key: found[key] for key in kept} for found in run.evaluations] or earlier
