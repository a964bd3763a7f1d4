"""Train a model into a run directory."""

import time
from pathlib import Path

import torch

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.models.registry import model_class
from titer.runs.baseline import baseline_of
from titer.runs.run import Run
from titer.runs.setting_differences import differences
from titer.threads import use_threads
from titer.training.config import Config, TrainingConfig
from titer.training.device import choose_device, peak_memory
from titer.training.layout import CONFIG, MODEL
from titer.training.loop import facts_to_learn, fit
from titer.training.temperature import fit_temperature
from titer.training.weights import save_weights

VALIDATION_SHARE = 0.25
"""Validation asks at most this share of the number of queries of an epoch, so that it does not dominate training."""
MIN_VALIDATION_QUERIES = 4000


def train(
    dataset: Dataset,
    config: Config,
    out: Path | str,
    *,
    overwrite: bool = False,
    resume: bool = False,
    baseline: bool = False,
) -> Run:
    """Train a model and write a run directory.

    With the same seed on a CPU, a resumed training ends with the same weights as an uninterrupted one.

    Args:
        dataset: The facts to train and validate on.
        config: The model and its settings.
        out: The run directory to write.
        overwrite: Replace an existing run.
        resume: Continue an interrupted training from its last checkpoint.
        baseline: Measure what counting past facts reaches on the validation split too.

    Returns:
        The finished run.

    Raises:
        ConfigError: If the device does not exist, or the settings do not fit the data.
        TiterError: If ``out`` holds anything that may not be overwritten, or a run to resume with other settings or
            data; or if training fails.
    """
    if overwrite and resume:
        raise TiterError("a run can be overwritten or resumed, not both")
    device = choose_device(config.training.device)
    if device.type == "cpu":
        use_threads(dataset.vocabulary.num_entities)
    torch.manual_seed(config.training.seed)
    # Built before the run is created, so that a wrong setting is found before anything is overwritten.
    model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    run = open_or_create(dataset, config, Path(out), overwrite=overwrite, resume=resume)
    if resume and run.is_finished:
        return run
    started = time.perf_counter()
    model.prepare(dataset.train, dataset.valid)
    prepared = time.perf_counter() - started
    model.to(device)
    # Prepared once: all validations, the temperature and the final evaluation use the same history and filter.
    validation = _validation(dataset, config.training, model.device) if len(dataset.valid) else None
    if model.is_trained_by_gradients:
        fit(model, dataset, config, run.path, validation=validation)
    else:
        save_weights(model, run.path / MODEL)
    model.temperature = fit_temperature(model, dataset, seed=config.training.seed, validation=validation)
    trained = time.perf_counter() - started
    if validation is not None:
        found = evaluate_task(model, validation)
        counted = baseline_of(run, found) if baseline else None
        run.record(found, baseline=counted.to_dict() if counted is not None else None)
    run.write_card()
    times = {"prepare_seconds": round(prepared, 3), "seconds": round(trained, 3)}
    threads = {"threads": torch.get_num_threads()} if device.type == "cpu" else {}
    run.finish({**times, **threads, **peak_memory(device), "temperature": model.temperature})
    return run


def _validation(dataset: Dataset, config: TrainingConfig, device: torch.device) -> EvaluationTask:
    """Prepare the validation split: a sample of it where an epoch is short in comparison."""
    queries = 2 * len(facts_to_learn(dataset.train, config.recent_steps))
    limit = max(MIN_VALIDATION_QUERIES, round(VALIDATION_SHARE * queries))
    return EvaluationTask(dataset, "valid", device=device, max_queries=limit)


def open_or_create(dataset: Dataset, config: Config, out: Path, *, overwrite: bool, resume: bool) -> Run:
    """Create a run directory, or open the one to resume.

    Raises:
        TiterError: If ``out`` holds anything that may not be overwritten, or a run to resume with other settings or
            data.
    """
    if not resume or not (out / CONFIG).is_file():
        return Run.create(out, config, dataset, overwrite=overwrite)
    run = Run(out)
    if run.config != config:
        changed = differences(run.config.to_dict(), config.to_dict())
        raise TiterError(f"{out} was started with other settings: {changed}. Resume it with the same ones")
    if run.dataset.checksum != dataset.checksum:
        raise TiterError(f"{out} was started with other data; resume it with the same dataset")
    return run
