"""Train a model into a run directory."""

import time
from collections.abc import Mapping
from pathlib import Path

import torch

from titer.data.dataset import Dataset
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.graph.stored_history import index_switch
from titer.parallel.processes import from_first
from titer.runs.baseline import baseline_of
from titer.runs.run import Run
from titer.runs.session import TrainingSession, training_session
from titer.trackers.base import Tracker
from titer.training.config import Config, TrainingConfig
from titer.training.loop import facts_to_learn
from titer.training.temperature import fit_temperature

VALIDATION_SHARE = 0.25
"""Validation asks at most this share of the number of queries of an epoch, so that it does not dominate training."""
MIN_VALIDATION_QUERIES = 4000
MIN_VALIDATION_STEPS = 64
"""A sample of the validation queries is taken from at least so many time steps: days differ less than their queries."""


def train(
    dataset: Dataset,
    config: Config,
    out: Path | str,
    *,
    overwrite: bool = False,
    resume: bool = False,
    baseline: bool = False,
    trackers: Mapping[str, Tracker] | None = None,
) -> Run:
    """Train a model and write a run directory.

    With the same seed on a CPU, a resumed training ends with the same weights as an uninterrupted one. Processes that
    torchrun has started train one model together.

    Args:
        dataset: The facts to train and validate on.
        config: The model and its settings. Settings that were not given a value may depend on the number of facts.
        out: The run directory to write.
        overwrite: Replace an existing run.
        resume: Continue an interrupted training from its last checkpoint.
        baseline: Measure what counting past facts reaches on the validation split too.
        trackers: Where to send the course of the training, by name; by default TensorBoard, if it is installed.

    Returns:
        The finished run.

    Raises:
        ConfigError: If the device does not exist, the settings do not fit the data, or the environment variable
            ``TITER_INDEX`` has a wrong value.
        TiterError: If ``out`` holds anything that may not be overwritten, or a run to resume with other settings or
            data; or if training fails.
    """
    index_switch()  # a wrong value is an error before anything is written
    config = config.for_facts(len(facts_to_learn(dataset.train, config.training.recent_steps)))
    with training_session(dataset, config, Path(out), overwrite=overwrite, resume=resume, trackers=trackers) as session:
        if not session.is_finished:
            _train(session, dataset, config, baseline=baseline)
    return Run(out)


def _train(session: TrainingSession, dataset: Dataset, config: Config, *, baseline: bool) -> None:
    """Train a model, fit its temperature, and write everything but the settings and the dataset."""
    run, model = session.run, session.model
    started = time.perf_counter()
    model.prepare(dataset.train, dataset.valid)
    prepared = time.perf_counter() - started
    model.to(session.device)
    # Prepared once: all validations, the temperature and the final evaluation use the same history and filter.
    validation = _validation(dataset, config.training, model.device) if len(dataset.valid) else None
    session.fit(dataset, validation)
    seed = config.training.seed
    model.temperature = from_first(lambda: fit_temperature(model, dataset, seed=seed, validation=validation))
    trained = time.perf_counter() - started
    results: dict[str, float] = {}
    if validation is not None:
        found = evaluate_task(model, validation)
        counted = baseline_of(run, found) if baseline else None
        if session.tracking is not None:
            run.record(found, baseline=counted.to_dict() if counted is not None else None)
        results["valid_mrr"] = found.metrics().mrr
    times = {"prepare_seconds": round(prepared, 3), "seconds": round(trained, 3)}
    session.finish({**times, "temperature": model.temperature}, results)


def _validation(dataset: Dataset, config: TrainingConfig, device: torch.device) -> EvaluationTask:
    """Prepare the validation split: a sample of it where an epoch is short in comparison."""
    queries = 2 * len(facts_to_learn(dataset.train, config.recent_steps))
    limit = max(MIN_VALIDATION_QUERIES, round(VALIDATION_SHARE * queries))
    return EvaluationTask(dataset, "valid", device=device, max_queries=limit, min_steps=MIN_VALIDATION_STEPS)
