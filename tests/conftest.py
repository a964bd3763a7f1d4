"""Fixtures for all tests."""

import gc
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from shared_folder import made_once, shared
from titer.data.dataset import Dataset
from titer.data.small_world import SmallWorld, small_world
from titer.runs.train import train
from titer.training.config import Config

# What is imported and collected stays until the end. The garbage collector need not visit it again and again.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Create the folder that all processes of the test session share, and remove it at the end."""
    stack = ExitStack()
    stack.enter_context(shared())
    config.add_cleanup(stack.close)


def pytest_collection_finish() -> None:
    """Let the garbage collector visit only what tests create."""
    gc.freeze()
    gc.enable()


# Tests run in parallel on few cores: one thread each, and no deadline on a busy machine.
torch.set_num_threads(1)
# Ray gives its workers the lowest priority: on busy cores, tests would wait for minutes for them.
os.environ.setdefault("RAY_worker_niceness", "0")
# Nor are processes needed that Ray would start in case of more work, or for statistics about its use.
for name in ("RAY_prestart_worker_first_driver", "RAY_enable_worker_prestart", "RAY_USAGE_STATS_ENABLED"):
    os.environ.setdefault(name, "0")
settings.register_profile(
    "titer",
    deadline=None,
    max_examples=30,
    derandomize=bool(os.environ.get("CI")),
    # Every model inherits the same cases, which hypothesis would report as one test with two executors.
    suppress_health_check=[HealthCheck.differing_executors],
)
# `make quick` tries fewer examples of each property, and `--hypothesis-profile=thorough` many other ones.
settings.register_profile("quick", settings.get_profile("titer"), max_examples=10)
settings.register_profile("thorough", settings.get_profile("titer"), max_examples=300, derandomize=False)
settings.load_profile("titer")

TESTS = Path(__file__).parent
SMALL_TRAINING = {"epochs": 1, "batch_size": 256, "learning_rate": 0.01, "device": "cpu"}
SMALL_CONFIGS = {
    "recurrency": Config.from_dict({}, "recurrency"),
    "path_mixture": Config.from_dict(
        {
            "model": {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "first_edges": 8, "second_edges": 8},
            "training": SMALL_TRAINING,
        },
        "path_mixture",
    ),
    "titer": Config.from_dict(
        {
            "model": {"num_edges": 20, "beam_size": 200, "entity_dim": 8, "time_dim": 4, "num_snapshots": 5},
            "training": SMALL_TRAINING,
        },
        "titer",
    ),
}
"""Small models for tests that need a trained one and do not depend on how good it is."""


LONG_GROUPS = (
    "ray",
    "test_real_data.py",
    "demo",
    "page",
    "documents",
    "parallel",
    "wheel",
    "resume",
    "service processes",
)
"""Groups of tests that take longest. They are started first, those that mostly wait beside those that compute."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return two processes more than there are cores for all tests, as many slow ones wait for processes they start."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if "not slow" in config.option.markexpr else cores + 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run all tests of a file, which share fixtures, and start those that take longest first."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(TESTS).as_posix()))
    items.sort(key=_expected_duration, reverse=True)


def _expected_duration(item: pytest.Item) -> tuple[int, float, bool]:
    group, timeout = item.get_closest_marker("xdist_group"), item.get_closest_marker("timeout")
    name = group.args[0] if group else ""
    place = len(LONG_GROUPS) - LONG_GROUPS.index(name) if name in LONG_GROUPS else 0
    return place, timeout.args[0] if timeout else 0, item.get_closest_marker("slow") is not None


@pytest.fixture(scope="session")
def datasets_folder() -> Path:
    """Return the folder of the real benchmarks."""
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


@pytest.fixture(scope="session")
def trained_run(world_data: Dataset) -> Callable[[str], Path]:
    """Return a function from the name of a model to its run on the small world.

    Each run is trained once for a whole test session. Tests must not write to it: see ``run_copy``.
    """
    return lambda name: made_once(name, lambda path: train(world_data, SMALL_CONFIGS[name], path, overwrite=True))


@pytest.fixture(scope="session")
def recurrency_run(trained_run: Callable[[str], Path]) -> Path:
    """Return a run of recurrency on the small world, to be read only."""
    return trained_run("recurrency")


@pytest.fixture(scope="session")
def path_mixture_run(trained_run: Callable[[str], Path]) -> Path:
    """Return a run of a small path mixture on the small world, to be read only."""
    return trained_run("path_mixture")


@pytest.fixture(scope="session")
def titer_run(trained_run: Callable[[str], Path]) -> Path:
    """Return a run of a small TITer on the small world, to be read only."""
    return trained_run("titer")


@pytest.fixture
def run_copy(tmp_path: Path) -> Callable[[Path], Path]:
    """Return a function that copies a run for a test that writes to it."""
    return lambda run: shutil.copytree(run, tmp_path / run.name)
