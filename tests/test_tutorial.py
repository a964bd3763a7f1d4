"""The tutorial does what it says: every block of it is run, in order, by real processes in an empty folder."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
PORT = "8000"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass
class Reader:
    """Somebody who does what the page says, with another port, since that one may be taken."""

    folder: Path
    port: str
    service: "subprocess.Popen[str] | None" = None
    printed: str = ""

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        for name, words in (("python", ""), ("titer", "-m titer")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
        self.desk = self.folder / "tutorial"
        self.desk.mkdir()

    def python(self, block: str) -> None:
        """Save a file under the name in its first line."""
        name = re.match(r"# (\w+\.py)\n", block)
        assert name, f"which file is this?\n{block}"
        (self.desk / name[1]).write_text(block.replace(PORT, self.port), encoding="utf-8")

    def sh(self, block: str) -> None:
        """Type the commands of a block, and read what they print."""
        words = ["bash", "-e", "-c", block]
        done = subprocess.run(words, cwd=self.desk, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        self.printed = done.stdout

    def serve(self, block: str) -> None:
        """Start the service in a second terminal, and wait until it is there."""
        words = ["bash", "-c", f"exec {block.strip()} --port {self.port}"]
        self.service = subprocess.Popen(words, cwd=self.desk, env=self.environment, stderr=subprocess.PIPE, text=True)
        assert self.service.stderr is not None
        assert any("running on" in line for line in self.service.stderr)
        with urlopen(f"http://127.0.0.1:{self.port}/healthz") as response:
            assert response.status == 200

    def output(self, block: str) -> None:
        """Every line that is shown was printed; measured numbers may differ, as machines do."""
        printed = {told(line) for line in self.printed.splitlines()}
        for line in block.splitlines():
            assert line == "…" or told(line) in printed, f"{line}\nis not in\n{self.printed}"

    def text(self, block: str) -> None:
        """What is done once, before the tutorial."""

    def stop(self) -> None:
        """Ctrl-C in the second terminal."""
        if self.service is not None and self.service.poll() is None:
            self.service.send_signal(signal.SIGINT)
            self.service.communicate(timeout=30)


def told(line: str) -> str:
    """A line without what differs from machine to machine: measurements, times of the clock, ranks, widths."""
    return " ".join(re.sub(r"\d+\.\d+%?|\d+%|\S+T\d\d:\S+|^ *\d+ ", "", line).replace("-", "").split())


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    reader = Reader(tmp_path, port)
    yield reader
    reader.stop()


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_every_block_of_the_tutorial_works_and_prints_what_is_shown(reader: Reader):
    for kind, block in blocks():
        getattr(reader, kind)(block)
    reader.stop()
    assert reader.service is not None
    assert reader.service.returncode == 0
    assert (reader.desk / "report.html").stat().st_size > 10_000
