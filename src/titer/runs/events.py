"""The event model of a run, and its evaluations."""

from contextlib import suppress
from typing import Any

from titer.data.dataset import Dataset
from titer.errors import RunError
from titer.events.config import EventConfig
from titer.events.evaluate import EventEvaluation
from titer.events.model import EventModel
from titer.events.storage import load_events, save_events
from titer.files import read_sealed_json, write_sealed_json
from titer.models.base import Model
from titer.runs.run import Run
from titer.training.layout import EVENT_METRICS, EVENTS
from titer.version import __version__


def event_model(run: Run, model: Model) -> EventModel:
    """Return the event model of a run; train and store it if the run has none.

    Args:
        run: The run directory.
        model: Its trained model.

    Returns:
        The event model, on the device of the model.

    Raises:
        RunError: The file of the event model is damaged, or training is not finished.
    """
    path = run.path / EVENTS
    dataset = run.dataset
    if path.is_file():
        return load_events(path, dataset.vocabulary, dataset.axis).to(model.device)
    if not run.is_finished:
        raise RunError(f"{run.path}: training is not finished, so its events cannot be forecast")
    config = EventConfig(seed=run.config.training.seed)
    events = EventModel(dataset.vocabulary, dataset.axis, config).fit(dataset, model)
    # A run that cannot be written to, such as on a read-only disk, is trained again next time.
    with suppress(OSError):
        if not run.is_replaced:  # the folder may hold a new run by now, whose events are others
            save_events(events, path)
    return events


def event_model_of(run: Run | None, model: Model, dataset: Dataset) -> EventModel:
    """Return the event model of a run, or one that is trained in memory if there is no run."""
    if run is not None:
        return event_model(run, model)
    return EventModel(dataset.vocabulary, dataset.axis).fit(dataset, model)


def event_evaluations(run: Run) -> list[dict[str, Any]]:
    """Return the recorded evaluations of event forecasts of a run, latest last.

    Raises:
        RunError: The file is damaged.
    """
    path = run.path / EVENT_METRICS
    if not path.is_file():
        return []
    try:
        return read_sealed_json(path)["evaluations"]
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged: {error}") from error


def record_events(run: Run, evaluation: EventEvaluation) -> dict[str, Any]:
    """Write an evaluation of event forecasts to the run; it replaces an earlier one of the same split and horizon.

    Returns:
        The record as it was written.
    """
    new = {**evaluation.to_dict(), "config": run.config.to_dict(), "titer": __version__}
    same = ("split", "horizon")
    kept = [old for old in event_evaluations(run) if any(old.get(key) != new[key] for key in same)]
    write_sealed_json(run.path / EVENT_METRICS, {"evaluations": [*kept, new]})
    return new
