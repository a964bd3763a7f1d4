from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from titer.data.dataset import Dataset
from titer.forecasting.forecaster import Forecaster
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from service.process import Service


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


# Playwright is imported by the tests of the page only: the others run without it.


@pytest.fixture(scope="session")
def service(world_data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Service]":
    """A read-only service of the small world with event forecasts, shared by all tests of the page."""
    from service.browsing import served

    yield from served(world_data, tmp_path_factory.mktemp("page") / "run")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    from service.browsing import opened

    yield from opened()


@pytest.fixture(scope="session")
def context(browser: "Browser") -> "Iterator[BrowserContext]":
    """What the tests' pages share, as the page stores nothing: a new one for each would take as long as many tests."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def page(context: "BrowserContext") -> "Iterator[Page]":
    from service.browsing import new_page

    yield from new_page(context)
