"""Somebody who does what a page of the documentation says, in real processes and an empty folder."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

PORT = "8000"
"""The port that pages name."""


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
        self.desk = self.folder / "desk"
        self.desk.mkdir()

    def python(self, block: str) -> None:
        """Save a file under the name in its first line."""
        name = re.match(r"# (\w+\.\w+)\n", block)
        assert name, f"which file is this?\n{block}"
        (self.desk / name[1]).write_text(block.replace(PORT, self.port), encoding="utf-8")

    toml = python

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
        """What is done once, by whoever has no test environment."""

    def read(self, page: Path) -> None:
        """Do what every block of a page says, in order."""
        text = page.read_text(encoding="utf-8")
        for kind, block in re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
            getattr(self, kind)(block)

    def stop(self) -> None:
        """Ctrl-C in the second terminal."""
        if self.service is not None and self.service.poll() is None:
            self.service.send_signal(signal.SIGINT)
            self.service.communicate(timeout=30)


def told(line: str) -> str:
    """A line without what differs from machine to machine: measurements, times of the clock, ranks, widths."""
    return " ".join(re.sub(r"\d+\.\d+%?|\d+%|\S+T\d\d:\S+|^ *\d+ ", "", line).replace("-", "").split())
