"""Event models that are trained in a second, for tests that do not depend on how good they are."""

import hashlib
from importlib import import_module
from pathlib import Path

from shared_folder import made_once
from titer.data.dataset import Dataset
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.events.storage import load_events, save_events
from titer.models.base import Model
from titer.runs.run import Run
from titer.training.layout import EVENTS

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


class QuickEventModel(EventModel):
    """An event model with these settings, whatever others are given."""

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, _: EventConfig | None = None):
        super().__init__(vocabulary, axis, QUICK)

    def fit(self, dataset: Dataset, model: Model) -> EventModel:
        """Train, or load what a process of this test session has trained for the same data and model."""
        fit = super().fit
        path = made_once(f"events-{_key(dataset, model)}", lambda path: save_events(fit(dataset, model), path))
        return load_events(path, dataset.vocabulary, dataset.axis).to(model.device)


def _key(dataset: Dataset, model: Model) -> str:
    found = hashlib.sha256(f"{dataset.checksum} {model.name} {model.config} {model.temperature}".encode())
    for name, tensor in model.state_dict().items():
        found.update(name.encode() + tensor.cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def store_quick_events(path: Path) -> None:
    """Store such an event model in a run that has none."""
    run, place = Run(path), path / EVENTS
    if run.is_finished and not place.is_file():
        dataset = run.dataset
        model = run.load_model("cpu")
        save_events(QuickEventModel(dataset.vocabulary, dataset.axis).fit(dataset, model), place)


def use_quick_events() -> None:
    """Let this process train such event models for runs that have none."""
    vars(import_module("titer.runs.events"))["EventModel"] = QuickEventModel
