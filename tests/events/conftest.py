"""A small event model that is trained once."""

import pytest

from quick_events import QUICK, QuickEventModel
from titer.data.dataset import Dataset
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.models.base import Model
from titer.models.registry import model_class


@pytest.fixture(scope="session")
def quick() -> EventConfig:
    """Return settings with which training takes less than a second."""
    return QUICK


@pytest.fixture(scope="session")
def model(world_data: Dataset) -> Model:
    return model_class("recurrency")(world_data.vocabulary, world_data.axis).eval()


@pytest.fixture(scope="session")
def events(world_data: Dataset, model: Model) -> EventModel:
    return QuickEventModel(world_data.vocabulary, world_data.axis).fit(world_data, model)
