from pathlib import Path

import pytest

from titer.data.dataset import Dataset
from titer.forecasting.forecaster import Forecaster
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config


@pytest.fixture(scope="module")
def trained(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(world_data, Config.from_dict({}, "recurrency"), tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def forecaster(trained: Run, tmp_path: Path) -> Forecaster:
    return Forecaster.load(trained, "cpu", tmp_path / "facts.db")


@pytest.fixture(scope="module")
def shared(trained: Run, tmp_path_factory: pytest.TempPathFactory) -> Forecaster:
    """A forecaster for tests that add no facts: a service around it is created once, which takes a while."""
    return Forecaster.load(trained, "cpu", tmp_path_factory.mktemp("shared") / "facts.db")
