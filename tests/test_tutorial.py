"""The tutorial does what it says: every block of it is run, in order, by real processes in an empty folder."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import Reader

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    reader = Reader(tmp_path, port)
    yield reader
    reader.stop()


def test_every_block_of_the_tutorial_works_and_prints_what_is_shown(reader: Reader):
    reader.read(TUTORIAL)
    reader.stop()
    assert reader.service is not None
    assert reader.service.returncode == 0
    assert (reader.desk / "report.html").stat().st_size > 10_000
