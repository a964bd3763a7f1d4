"""A forecaster for every model, on the small world."""

import pytest
import torch

from titer.data.dataset import Dataset
from titer.forecasting.forecaster import Forecaster
from titer.models.base import Model
from titer.models.registry import model_class
from titer.training.config import Config

SETTINGS = {
    "recurrency": {},
    "random_walk": {"num_walks": 50},
    "titer": {"beam_size": 16, "num_edges": 10, "path_length": 2},
    "path_mixture": {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "rank": 4, "first_edges": 8, "second_edges": 8},
}


def make_model(name: str, dataset: Dataset) -> Model:
    """Return an untrained model: these tests do not depend on learned parameters."""
    torch.manual_seed(0)
    config = Config.from_dict({"model": SETTINGS[name]}, name).model
    return model_class(name)(dataset.vocabulary, dataset.axis, config).eval()


@pytest.fixture(scope="module", params=SETTINGS)
def any_forecaster(request: pytest.FixtureRequest, world_data: Dataset) -> Forecaster:
    return Forecaster(make_model(request.param, world_data), world_data)


@pytest.fixture(scope="module")
def forecaster(world_data: Dataset) -> Forecaster:
    return Forecaster(make_model("recurrency", world_data), world_data)
