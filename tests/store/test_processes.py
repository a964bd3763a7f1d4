"""Processes that write at the same time, and processes that are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

import titer
from store.samples import dataset
from store.writer import BATCH, batch
from titer.store.facts import FactStore

KILLS = 100
ENDLESS = 10**9


class Nursery:
    """A process that starts writers; see ``writer.py``."""

    def __init__(self, commands: IO[str], answers: IO[str]):
        self.commands, self.answers = commands, answers

    def start(self, address: str, writer: str, num_batches: int = ENDLESS) -> int:
        """Start a writer and return its process id."""
        self.commands.write(f"{address} {writer} {num_batches}\n")
        self.commands.flush()
        return int(self.line("started"))

    def line(self, expected: str) -> str:
        word, _, rest = self.answers.readline().strip().partition(" ")
        assert word == expected
        return rest

    def stored(self) -> list[int]:
        """Return the batches that a writer reports as stored, until it ends."""
        lines = []
        while (line := self.answers.readline().strip()) != "ended":
            assert line.startswith("stored ")
            lines.append(int(line.removeprefix("stored ")))
        return lines


@contextmanager
def nursery() -> Generator[Nursery]:
    paths = [str(Path(titer.__file__).parents[1]), str(Path(__file__).parents[1])]
    process = subprocess.Popen(
        [sys.executable, "-m", "store.writer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield Nursery(process.stdin, process.stdout)


@pytest.mark.slow
def test_a_hundred_kills_lose_no_acknowledged_fact_and_leave_no_partial_batch(address: str):
    chance = random.Random(0)
    total = 0
    with FactStore(address, dataset()) as store, nursery() as processes:
        for kill in range(KILLS):
            writer = f"writer-{kill}"
            pid = processes.start(address, writer)
            said = []
            if kill % 10:  # the others may be killed before their first batch
                said.append(int(processes.line("stored")))
            time.sleep(chance.random() * 0.02)
            os.kill(pid, signal.SIGKILL)
            said += processes.stored()
            assert said == list(range(len(said)))
            store.add([])  # waits for the lock: a server may still be committing for a client that is gone
            facts = [fact for _, fact, _ in store.since(total)]  # which checks that no number is missing
            total += len(facts)
            whole = len(facts) // BATCH
            assert facts == [fact for number in range(whole) for fact in batch(writer, number)]
            # A batch may be stored when its writer is killed before it could say so; then it stays stored.
            assert whole in (len(said), len(said) + 1)
    assert total >= BATCH * KILLS * 9 // 10
    with FactStore(address, dataset()) as again:
        assert len(again.since(0)) == total


@pytest.mark.slow
def test_concurrent_writers_lose_no_fact_and_split_no_batch(address: str):
    # Nothing is there yet: they also create the store at once.
    with nursery() as one, nursery() as two, nursery() as three:
        started = [one, two, three]
        for i, processes in enumerate(started):
            processes.start(address, f"writer-{i}", num_batches=20)
        for processes in started:
            assert processes.stored() == list(range(20))
    with FactStore(address, dataset()) as store:
        facts = [fact for _, fact, _ in store.since(0)]
    assert len(facts) == 3 * 20 * BATCH
    batches = [facts[i : i + BATCH] for i in range(0, len(facts), BATCH)]
    for i in range(3):
        mine = [one for one in batches if one[0].subject == f"writer-{i}"]
        assert mine == [batch(f"writer-{i}", number) for number in range(20)]
