"""A run with a small event model."""

from pathlib import Path

import pytest

from titer.data.dataset import Dataset
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.events.storage import save_events
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from titer.training.layout import EVENTS


@pytest.fixture(scope="session")
def event_run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "events"
    train(world_data, Config.from_dict({}, "recurrency"), path)
    quick = EventConfig(num_rows=6000, min_batches=30, epochs=1, num_queries=64, new_per_query=5, calibration_steps=4)
    model = Run(path).load_model("cpu")
    save_events(EventModel(world_data.vocabulary, world_data.axis, quick).fit(world_data, model), path / EVENTS)
    return path
