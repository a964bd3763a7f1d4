"""SIGHUP of a closed terminal is distinguished from a request to reload."""

import os
import pty
from collections.abc import Iterator

import pytest

from titer.service.terminal import Terminal


@pytest.fixture
def master() -> Iterator[int]:
    """A new terminal as standard input; its other end."""
    before, (master, slave) = os.dup(0), pty.openpty()
    os.dup2(slave, 0)
    yield master
    os.dup2(before, 0)
    for one in (before, slave):
        os.close(one)


def test_a_terminal_is_closed_when_its_other_end_is(master: int):
    terminal = Terminal()
    assert not terminal.is_closed
    os.close(master)
    assert terminal.is_closed


def test_a_process_without_a_terminal_has_none_to_lose(master: int):
    os.close(master)
    assert not Terminal().is_closed
