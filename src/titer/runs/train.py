"""Train a model into a run directory."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import torch

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.models.base import Model
from titer.models.registry import model_class
from titer.parallel.processes import from_first, joined, rank, size
from titer.runs.run import Run
from titer.trackers.base import TrackedTraining, Tracker
from titer.trackers.registry import make_trackers
from titer.trackers.tracking import Tracking
from titer.training.config import Config
from titer.training.device import choose_device, peak_memory
from titer.training.layout import CONFIG, MODEL
from titer.training.loop import fit
from titer.training.temperature import fit_temperature
from titer.training.weights import save_weights


def train(
    dataset: Dataset,
    config: Config,
    out: Path | str,
    *,
    overwrite: bool = False,
    resume: bool = False,
    trackers: Mapping[str, Tracker] | None = None,
) -> Run:
    """Train a model and write a run directory.

    With the same seed on a CPU, a resumed training ends with the same weights as an uninterrupted one. Processes that
    torchrun has started train one model together.

    Args:
        dataset: The facts to train and validate on.
        config: The model and its settings.
        out: The run directory to write.
        overwrite: Replace an existing run.
        resume: Continue an interrupted training from its last checkpoint.
        trackers: Where to send the course of the training, by name; by default TensorBoard, if it is installed.

    Returns:
        The finished run.

    Raises:
        ConfigError: If the device does not exist, or the settings do not fit the data.
        TiterError: If ``out`` holds anything that may not be overwritten, or a run to resume with other settings or
            data; or if training fails.
    """
    if overwrite and resume:
        raise TiterError("a run can be overwritten or resumed, not both")
    with joined(choose_device(config.training.device)) as device:
        torch.manual_seed(config.training.seed)
        # Built before the run is created, so that a wrong setting is found before anything is overwritten.
        model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)

        def open_run() -> bool:
            return _open_or_create(dataset, config, Path(out), overwrite=overwrite, resume=resume).is_finished

        is_finished = from_first(open_run)
        run = Run(out)
        if not (resume and is_finished):
            followed = make_trackers() if trackers is None else trackers
            training = TrackedTraining(run.path, config.model_name, dataset.name, _flat(config))
            with Tracking(followed, training) if rank() == 0 else nullcontext() as tracking:
                _train(model, device, dataset, config, run, tracking)
        # The other processes may read the run as soon as they return.
        from_first(lambda: None)
        return run


def _train(
    model: Model, device: torch.device, dataset: Dataset, config: Config, run: Run, tracking: Tracking | None
) -> None:
    """Train a model, fit its temperature, and write everything but the settings and the dataset."""
    is_first = rank() == 0
    started = time.perf_counter()
    model.prepare(dataset.train, dataset.valid)
    prepared = time.perf_counter() - started
    model.to(device)
    # Prepared once: all validations, the temperature and the final evaluation use the same history and filter.
    validation = EvaluationTask(dataset, "valid", device=model.device) if len(dataset.valid) else None
    if model.is_trained_by_gradients:
        fit(model, dataset, config, run.path, validation=validation, tracking=tracking)
    elif is_first:
        save_weights(model, run.path / MODEL)
    seed = config.training.seed
    model.temperature = from_first(lambda: fit_temperature(model, dataset, seed=seed, validation=validation))
    trained = time.perf_counter() - started
    found = evaluate_task(model, validation) if validation is not None else None
    if not is_first:
        return
    assert tracking is not None
    if found is not None:
        run.record(found)
    run.write_card()
    times = {"prepare_seconds": round(prepared, 3), "seconds": round(trained, 3)}
    processes = {"processes": size()} if size() > 1 else {}
    run.finish({**times, **processes, **peak_memory(device), "temperature": model.temperature})
    tracking.summarise({**({"valid_mrr": found.metrics().mrr} if found is not None else {}), "seconds": trained})


def _flat(config: Config) -> dict[str, object]:
    """Return the settings by their full names, such as ``training.epochs``."""
    return {f"{table}.{key}": value for table, settings in config.to_dict().items() for key, value in settings.items()}


def _open_or_create(dataset: Dataset, config: Config, out: Path, *, overwrite: bool, resume: bool) -> Run:
    if not resume or not (out / CONFIG).is_file():
        return Run.create(out, config, dataset, overwrite=overwrite)
    run = Run(out)
    if run.config != config:
        raise TiterError(f"{out} was started with other settings; resume it with the same ones")
    if run.dataset.checksum != dataset.checksum:
        raise TiterError(f"{out} was started with other data; resume it with the same dataset")
    return run
