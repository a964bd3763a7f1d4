"""Gradient descent: one loop for every model."""

import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import TiterError
from titer.evaluation.evaluate import evaluate
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.training.batches import shuffled_batches
from titer.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from titer.training.config import Config, TrainingConfig
from titer.training.layout import MODEL
from titer.training.reporter import Reporter
from titer.training.steps import Stepper, make_stepper
from titer.training.weights import load_weights, save_weights


def fit(model: Model, dataset: Dataset, config: Config, folder: Path) -> None:
    """Train a model by gradient descent and leave it with the weights that did best on the validation split.

    The folder receives the log, the best weights and the checkpoints; training resumes from the latest checkpoint.

    Args:
        model: A prepared model, on the device to train on.
        dataset: Supplies the training and the validation split.
        config: The settings of the run.
        folder: An existing run directory.
    """
    training = config.training
    queries, answers = Queries.from_facts(_to_learn(dataset.train, training.recent_steps), dataset.vocabulary)
    # Each question looks strictly before its own time, so all of train can lie in one history.
    history = History(dataset.train, dataset.vocabulary).to(model.device)
    stepper = make_stepper(model, queries, answers, history, training)
    settings = config.to_dict()
    progress, complaints = load_checkpoint(folder, model, stepper.optimiser, settings)
    with Reporter(folder, training, progress, complaints) as reporter:
        for epoch in range(progress.epoch + 1, training.epochs + 1):
            # Before an epoch and not behind one: a run that had stopped when it was broken off does not begin another.
            waited = (progress.epoch - progress.best_epoch) // training.validate_every
            if training.patience and len(dataset.valid) and waited >= training.patience:
                reporter.say(f"no new best in {waited} measurements: stopped after epoch {progress.epoch}")
                break
            row = _train_epoch(model, stepper, epoch, training)
            last = epoch == training.epochs
            if epoch % training.validate_every == 0 or last:
                progress = _validate(model, dataset, row, epoch, progress, folder)
            progress = replace(progress, epoch=epoch, log=(*progress.log, row))
            if epoch % training.validate_every == 0 or last:
                save_checkpoint(folder, model, stepper.optimiser, progress, settings)
            reporter.epoch(row, progress)
    if not (folder / MODEL).is_file():
        save_weights(model, folder / MODEL)
    load_weights(model, folder / MODEL)


def _to_learn(train: Facts, recent_steps: int) -> Facts:
    """The facts of the last so many steps, or all."""
    if not recent_steps or len(train) == 0:
        return train
    return train[train.time > train.time.max() - recent_steps]


def _train_epoch(model: Model, stepper: Stepper, epoch: int, config: TrainingConfig) -> dict[str, Any]:
    """Look at every training question once. What is random depends on seed and epoch alone."""
    started = time.perf_counter()
    torch.manual_seed(config.seed * 1_000_003 + epoch)
    model.train()
    model.begin_epoch(epoch)
    batches = shuffled_batches(stepper.queries, config.batch_size, by_time=model.batch_by_time)
    for i, rows in enumerate(batches):
        stepper.set_learning_rate(config.learning_rate_at(epoch, i / len(batches)))
        stepper.step(rows)
    means = stepper.averages()
    if not math.isfinite(means["loss"]):
        raise TiterError(
            f"the loss became {means['loss']} in epoch {epoch}; nothing more can be learned from here. The last good "
            "checkpoint remains; a smaller learning rate may help"
        )
    seconds = time.perf_counter() - started
    speed = len(stepper.queries) / seconds
    return {"epoch": epoch, **means, "seconds": round(seconds, 4), "queries_per_second": round(speed)}


def _validate(
    model: Model, dataset: Dataset, row: dict[str, Any], epoch: int, progress: Progress, folder: Path
) -> Progress:
    """Measure on valid, and keep the weights if they are the best so far."""
    if len(dataset.valid) == 0:
        save_weights(model, folder / MODEL)
        return progress
    metrics = evaluate(model, dataset, "valid", quiet=True).metrics()
    row["valid_mrr"] = metrics.mrr
    row["valid"] = asdict(metrics)
    if metrics.mrr <= progress.best_mrr:
        return progress
    save_weights(model, folder / MODEL)
    return replace(progress, best_mrr=metrics.mrr, best_epoch=epoch)
