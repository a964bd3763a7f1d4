"""Event models that are trained in a second, for tests that do not depend on how good they are."""

from importlib import import_module
from pathlib import Path

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.events.storage import save_events
from titer.runs.run import Run
from titer.training.layout import EVENTS, MODEL

QUICK = EventConfig(
    num_rows=6000,
    min_batches=30,
    epochs=1,
    members=1,
    num_queries=64,
    new_per_query=5,
    new_steps=10,
    calibration_steps=4,
    recent_steps=2,
)
_trained: dict[tuple[str, bytes], bytes] = {}


def store_quick_events(path: Path) -> None:
    """Store such an event model in a run that has none; one for equal runs is trained once in a process."""
    run, place = Run(path), path / EVENTS
    if not run.is_finished or place.is_file():
        return
    dataset = run.dataset
    key = dataset.checksum, (path / MODEL).read_bytes()
    if key not in _trained:
        fitted = EventModel(dataset.vocabulary, dataset.axis, QUICK).fit(dataset, run.load_model("cpu"))
        save_events(fitted, place)
        _trained[key] = place.read_bytes()
    place.write_bytes(_trained[key])


def quick_event_model(vocabulary: Vocabulary, axis: TimeAxis, _: EventConfig | None = None) -> EventModel:
    """Create such an event model, whatever the settings are."""
    return EventModel(vocabulary, axis, QUICK)


def use_quick_events() -> None:
    """Let this process train such event models for runs that have none."""
    vars(import_module("titer.runs.events"))["EventModel"] = quick_event_model
