"""One training, by one or several processes: their group, the run directory that the first one writes, its trackers."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from titer.data.dataset import Dataset
from titer.errors import TiterError
from titer.evaluation.task import EvaluationTask
from titer.models.base import Model
from titer.parallel.processes import from_first, joined, size
from titer.runs.build import build_model
from titer.runs.place import training_place
from titer.runs.run import Run
from titer.runs.setting_differences import differences
from titer.threads import use_training_threads
from titer.trackers.base import TrackedTraining, Tracker
from titer.trackers.registry import make_trackers
from titer.trackers.tracking import Tracking
from titer.training.config import Config
from titer.training.device import choose_device, peak_memory
from titer.training.layout import CONFIG, MODEL
from titer.training.loop import fit
from titer.training.weights import save_weights


@dataclass(frozen=True)
class TrainingSession:
    """A run that is being trained.

    Attributes:
        run: The run, in the folder to train in.
        model: Its new model, on the CPU.
        device: The device of this process.
        tracking: The trackers; None in all processes but the first, which alone writes files.
        is_finished: Whether the run to resume is finished already.
    """

    run: Run
    model: Model
    device: torch.device
    tracking: Tracking | None
    is_finished: bool

    def fit(self, dataset: Dataset, validation: EvaluationTask | None = None) -> None:
        """Train the prepared model, and write its weights.

        Args:
            dataset: The facts to train and validate on.
            validation: The validation split prepared for evaluation, if the caller has it already.
        """
        if self.model.is_trained_by_gradients:
            fit(self.model, dataset, self.run.config, self.run.path, validation=validation, tracking=self.tracking)
        elif self.tracking is not None:
            save_weights(self.model, self.run.path / MODEL)

    def finish(self, summary: dict[str, Any], results: Mapping[str, float]) -> None:
        """Write the card, mark the training as finished, and send the results to the trackers.

        Args:
            summary: At least ``seconds`` and ``temperature``.
            results: What trackers receive besides the seconds.
        """
        if self.tracking is None:
            return
        self.run.write_card()
        threads = {"threads": torch.get_num_threads()} if self.device.type == "cpu" else {}
        processes = {"processes": size()} if size() > 1 else {}
        self.run.finish({**summary, **threads, **processes, **peak_memory(self.device)})
        self.tracking.summarise({**results, "seconds": summary["seconds"]})


@contextmanager
def training_session(
    dataset: Dataset,
    config: Config,
    out: Path,
    *,
    overwrite: bool,
    resume: bool,
    trackers: Mapping[str, Tracker] | None,
) -> Generator[TrainingSession]:
    """Create or resume a run to train; when the block ends, the new run is in its place.

    Args:
        dataset: The dataset of the run.
        config: The model and its settings.
        out: The run directory to write.
        overwrite: Replace an existing run.
        resume: Continue an interrupted training from its last checkpoint.
        trackers: Where to send the course of the training, by name; by default TensorBoard, if it is installed.

    Raises:
        ConfigError: If the device does not exist, or the settings do not fit the data.
        LockedError: If another training writes there.
        TiterError: If ``out`` holds anything that may not be overwritten, or a run to resume with other settings or
            data.
    """
    if overwrite and resume:
        raise TiterError("a run can be overwritten or resumed, not both")
    with joined(choose_device(config.training.device)) as device, ExitStack() as stack:
        if device.type == "cpu":
            # The same number in all processes, since sums by another number of threads are rounded differently.
            torch.set_num_threads(from_first(lambda: use_training_threads(dataset.vocabulary.num_entities)))
        torch.manual_seed(config.training.seed)
        # Built before the run is created, so that a wrong setting is found before anything is overwritten.
        model = build_model(config, dataset)
        tracking: Tracking | None = None

        def open_run() -> tuple[str, bool]:
            nonlocal tracking
            place = stack.enter_context(training_place(out, overwrite=overwrite, resume=resume))
            run = _open_or_create(dataset, config, place, overwrite=overwrite, resume=resume)
            is_finished = resume and run.is_finished
            if not is_finished:
                training = TrackedTraining(run.path, config.model_name, dataset.name, _flat(config))
                tracking = stack.enter_context(Tracking(make_trackers() if trackers is None else trackers, training))
            return str(run.path), is_finished

        path, is_finished = from_first(open_run)
        yield TrainingSession(Run(path), model, device, tracking, is_finished)
        # The other processes may read the run as soon as they return.
        from_first(stack.close)


def _open_or_create(dataset: Dataset, config: Config, out: Path, *, overwrite: bool, resume: bool) -> Run:
    if not resume or not (out / CONFIG).is_file():
        return Run.create(out, config, dataset, overwrite=overwrite)
    run = Run(out)
    if run.config != config:
        changed = differences(run.config.to_dict(), config.to_dict())
        raise TiterError(f"{out} was started with other settings: {changed}. Resume it with the same ones")
    if run.dataset.checksum != dataset.checksum:
        raise TiterError(f"{out} was started with other data; resume it with the same dataset")
    return run


def _flat(config: Config) -> dict[str, object]:
    """Return the settings by their full names, such as ``training.epochs``."""
    return {f"{table}.{key}": value for table, settings in config.to_dict().items() for key, value in settings.items()}
