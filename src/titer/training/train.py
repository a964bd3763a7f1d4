"""One way to train every model."""

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
from titer.models.registry import model_class
from titer.training.batches import shuffled_batches
from titer.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from titer.training.config import Config, TrainingConfig
from titer.training.device import choose_device, most_memory
from titer.training.layout import CONFIG, MODEL
from titer.training.reporter import Reporter
from titer.training.run import Run, check_can_create
from titer.training.steps import Stepper, make_stepper
from titer.training.temperature import fit_temperature


def train(dataset: Dataset, config: Config, out: Path | str, *, overwrite: bool = False, resume: bool = False) -> Run:
    """Train a model and leave it, with all that belongs to it, in a run directory.

    With ``resume``, a training that was broken off goes on from its last checkpoint; with the same seed on a CPU it
    ends in the very weights that it would have reached without the break.
    """
    if overwrite and resume:
        raise TiterError("a run is either overwritten or resumed")
    device = choose_device(config.training.device)
    torch.manual_seed(config.training.seed)
    # Whatever can go wrong with the settings goes wrong here, before anything is overwritten.
    model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    run = _open_or_create(dataset, config, Path(out), overwrite=overwrite, resume=resume)
    if resume and run.is_finished:
        return run
    started = time.perf_counter()
    model.prepare(dataset.train, dataset.valid)
    prepared = time.perf_counter() - started
    model.to(device)
    if model.is_trained_by_gradients:
        _descend(model, dataset, config.training, run)
    else:
        run.save_model(model)
    model.temperature = fit_temperature(model, dataset, seed=config.training.seed)
    trained = time.perf_counter() - started
    if len(dataset.valid):
        run.record(evaluate(model, dataset, "valid"))
    run.write_card()
    times = {"prepare_seconds": round(prepared, 3), "seconds": round(trained, 3)}
    run.finish({**times, **most_memory(device), "temperature": model.temperature})
    return run


def _open_or_create(dataset: Dataset, config: Config, out: Path, *, overwrite: bool, resume: bool) -> Run:
    if not resume or not (out / CONFIG).is_file():
        check_can_create(out, overwrite=overwrite)
        return Run.create(out, config, dataset, overwrite=overwrite)
    run = Run(out)
    if run.config != config:
        raise TiterError(f"{out} was begun with other settings; it can only be resumed with the same ones")
    if run.dataset.checksum != dataset.checksum:
        raise TiterError(f"{out} was begun on other data")
    return run


def _descend(model: Model, dataset: Dataset, config: TrainingConfig, run: Run) -> None:
    """Gradient descent over the training facts, keeping the weights that do best on valid."""
    queries, answers = Queries.about(_to_learn(dataset.train, config.recent_steps), dataset.vocabulary)
    # Each question looks strictly before its own time, so all of train can lie in one history.
    history = History(dataset.train, dataset.vocabulary).to(model.device)
    stepper = make_stepper(model, queries, answers, history, config)
    settings = run.config.to_dict()
    progress, complaints = load_checkpoint(run.path, model, stepper.optimiser, settings)
    with Reporter(run, config, progress, complaints) as reporter:
        for epoch in range(progress.epoch + 1, config.epochs + 1):
            # Before an epoch and not behind one: a run that had stopped when it was broken off does not begin another.
            waited = (progress.epoch - progress.best_epoch) // config.validate_every
            if config.patience and len(dataset.valid) and waited >= config.patience:
                reporter.say(f"no new best in {waited} measurements: stopped after epoch {progress.epoch}")
                break
            row = _train_epoch(model, stepper, epoch, config)
            last = epoch == config.epochs
            if epoch % config.validate_every == 0 or last:
                progress = _validate(model, dataset, row, epoch, progress, run)
            progress = replace(progress, epoch=epoch, log=(*progress.log, row))
            if epoch % config.validate_every == 0 or last:
                save_checkpoint(run.path, model, stepper.optimiser, progress, settings)
            reporter.epoch(row, progress)
    if not (run.path / MODEL).is_file():
        run.save_model(model)
    run.load_weights(model)


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
    batches = shuffled_batches(stepper.queries, config.batch_size, by_time=model.batches_share_their_time)
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
    model: Model, dataset: Dataset, row: dict[str, Any], epoch: int, progress: Progress, run: Run
) -> Progress:
    """Measure on valid, and keep the weights if they are the best so far."""
    if len(dataset.valid) == 0:
        run.save_model(model)
        return progress
    metrics = evaluate(model, dataset, "valid", quiet=True).metrics()
    row["valid_mrr"] = metrics.mrr
    row["valid"] = asdict(metrics)
    if metrics.mrr <= progress.best_mrr:
        return progress
    run.save_model(model)
    return replace(progress, best_mrr=metrics.mrr, best_epoch=epoch)
