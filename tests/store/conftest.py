"""SQLite and PostgreSQL stores."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from store.postgres import Server, server

NewStore = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def new_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
    """Return a function that returns the address of a new store at every call."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres").new_store
    folder: Path = tmp_path_factory.mktemp("stores")
    return lambda: f"sqlite:///{folder / uuid4().hex}.db"


@pytest.fixture
def address(new_store: NewStore) -> str:
    """Return the address of a store that does not exist yet."""
    return new_store()
