"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from titer.data.dataset import Dataset
from titer.data.small_world import SmallWorld, small_world

# Tests run in parallel on few cores: one thread each, and no deadline for a machine that is busy.
torch.set_num_threads(1)
settings.register_profile(
    "titer",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    # Every model inherits the same cases, which hypothesis would take for one test run in two ways.
    suppress_health_check=[HealthCheck.differing_executors],
)
settings.load_profile("titer")


@pytest.fixture(scope="session")
def datasets_folder() -> Path:
    """The folder with the real benchmarks."""
    folder = os.environ.get("TITER_DATASETS")
    if not folder:
        pytest.skip("TITER_DATASETS does not name the folder of the real datasets")
    return Path(folder)


@pytest.fixture(scope="session")
def world() -> SmallWorld:
    return small_world()


@pytest.fixture(scope="session")
def world_data(world: SmallWorld) -> Dataset:
    return world.dataset
