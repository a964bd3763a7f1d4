"""A cluster, and a run with a small event model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quick_events import store_quick_events
from ray_cluster import RayCluster
from titer.data.dataset import Dataset
from titer.runs.train import train
from titer.training.config import Config


@pytest.fixture(scope="session")
def event_run(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "events"
    train(world_data, Config.from_dict({}, "recurrency"), path)
    store_quick_events(path)
    return path


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    """A cluster that is started once: all tests that need one are in one group."""
    started = RayCluster()
    yield started
    started.stop()
