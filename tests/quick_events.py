"""Event models that are trained in a second, for tests that do not depend on how good they are."""

from pathlib import Path

from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.events.storage import save_events
from titer.runs.run import Run
from titer.training.layout import EVENTS

QUICK = EventConfig(num_rows=6000, min_batches=30, epochs=1, num_queries=64, new_per_query=5, calibration_steps=4)


def store_quick_events(path: Path) -> None:
    """Store such an event model in a run that has none."""
    run = Run(path)
    if run.is_finished and not (path / EVENTS).is_file():
        dataset = run.dataset
        fitted = EventModel(dataset.vocabulary, dataset.axis, QUICK).fit(dataset, run.load_model("cpu"))
        save_events(fitted, path / EVENTS)
