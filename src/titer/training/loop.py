"""The training loop: gradient descent for every model."""

import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import TiterError
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.graph.queries import Queries
from titer.graph.stored_history import history_of
from titer.models.base import Model
from titer.parallel.processes import rank, share_state
from titer.threads import reuse_threads
from titer.trackers.tracking import Tracking
from titer.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from titer.training.config import Config, TrainingConfig
from titer.training.layout import MODEL
from titer.training.reporter import Reporter
from titer.training.steps import Stepper, make_stepper
from titer.training.weights import load_weights, save_weights


def fit(
    model: Model,
    dataset: Dataset,
    config: Config,
    folder: Path,
    *,
    validation: EvaluationTask | None = None,
    tracking: Tracking | None = None,
) -> None:
    """Train a model by gradient descent and leave it with the weights that the settings keep: the best or the last.

    The folder receives the log, the kept weights and the checkpoints; training resumes from the latest checkpoint.
    Several processes divide every batch and every validation among them, and all end with the same weights. The first
    process alone reads and writes files.

    Args:
        model: A prepared model, on the device to train on.
        dataset: Supplies the training and the validation split.
        config: The settings of the run.
        folder: An existing run directory.
        validation: The validation split prepared for evaluation, if the caller has it already.
        tracking: Receives every row of the log.

    Raises:
        TiterError: If the loss becomes infinite or NaN, or contact with another process is lost.
        RunError: If the folder has a checkpoint of a training with other settings.
    """
    training = config.training
    if validation is None and len(dataset.valid):
        validation = EvaluationTask(dataset, "valid", device=model.device)
    queries, answers = Queries.from_facts(facts_to_learn(dataset.train, training.recent_steps), dataset.vocabulary)
    # Each query sees only facts before its own time, so one history can hold the whole training split.
    history = history_of(dataset, "train").to(model.device)
    stepper = make_stepper(model, queries, answers, history, training)
    settings = config.to_dict()
    progress, warnings = load_checkpoint(folder, model, stepper.optimiser, settings)
    share_state(model)
    if progress.threads and model.device.type == "cpu":
        reuse_threads(progress.threads)
    with Reporter(folder, training, progress, warnings, tracking) as reporter:
        for epoch in range(progress.epoch + 1, training.epochs + 1):
            # Checked before an epoch, so that a resumed run that had already stopped does not train another one.
            waited = (progress.epoch - progress.best_epoch) // training.validate_every
            if training.patience and validation is not None and waited >= training.patience:
                reporter.say(f"no improvement in {waited} validations: stopped after epoch {progress.epoch}")
                break
            row = _train_epoch(model, stepper, epoch, training, reporter)
            last = epoch == training.epochs
            if epoch % training.validate_every == 0 or last:
                progress = _validate(model, validation, row, epoch, progress, folder, training)
            progress = replace(progress, epoch=epoch, log=(*progress.log, row), threads=torch.get_num_threads())
            if rank() == 0 and (epoch % training.validate_every == 0 or last):
                save_checkpoint(folder, model, stepper.optimiser, progress, settings)
            reporter.epoch(row, progress)
    if rank() == 0:
        if not (folder / MODEL).is_file():
            save_weights(model, folder / MODEL)
        load_weights(model, folder / MODEL)
    share_state(model)


def facts_to_learn(train: Facts, recent_steps: int) -> Facts:
    """Return the facts of the last time steps, or all facts for 0."""
    if not recent_steps or len(train) == 0:
        return train
    return train[train.time > train.time.max() - recent_steps]


def _train_epoch(
    model: Model, stepper: Stepper, epoch: int, config: TrainingConfig, reporter: Reporter | None = None
) -> dict[str, Any]:
    """Train on every query once. All randomness depends only on the seed, the epoch and the number of the process."""
    started = time.perf_counter()
    seed = config.seed * 1_000_003 + epoch
    torch.manual_seed(seed)
    model.train()
    model.begin_epoch(epoch)
    batches = stepper.batches()
    if rank() > 0:
        # All processes have the same batches, but each draws other random numbers for its part of them.
        torch.manual_seed(seed + (rank() << 52))
    for i, rows in enumerate(batches):
        stepper.set_learning_rate(config.learning_rate_at(epoch, i / len(batches)))
        stepper.step(rows)
        if reporter is not None:
            reporter.step(epoch, (i + 1) / len(batches))
    means = stepper.averages()
    # A replayed CUDA graph changes tensors without raising their versions, by which models recognise stale caches.
    torch.autograd.graph.increment_version([*model.parameters(), *model.buffers()])
    if not math.isfinite(means["loss"]):
        raise TiterError(
            f"the loss became {means['loss']} in epoch {epoch}; training cannot continue. The last checkpoint is kept; "
            "try a smaller learning rate"
        )
    seconds = time.perf_counter() - started
    speed = len(stepper.queries) / seconds
    return {"epoch": epoch, **means, "seconds": round(seconds, 4), "queries_per_second": round(speed)}


def _validate(
    model: Model,
    validation: EvaluationTask | None,
    row: dict[str, Any],
    epoch: int,
    progress: Progress,
    folder: Path,
    config: TrainingConfig,
) -> Progress:
    """Evaluate on the validation split, and save the weights if they are the best so far or the last are kept."""
    if validation is None:
        if rank() == 0:
            save_weights(model, folder / MODEL)
        return progress
    metrics = evaluate_task(model, validation, quiet=True).metrics()
    row["valid_mrr"] = metrics.mrr
    row["valid"] = asdict(metrics)
    is_best = metrics.mrr > progress.best_mrr
    if rank() == 0 and (is_best or config.keep == "last"):
        save_weights(model, folder / MODEL)
    return replace(progress, best_mrr=metrics.mrr, best_epoch=epoch) if is_best else progress
