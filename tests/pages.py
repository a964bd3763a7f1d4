"""Run the code blocks of a document, in order, in real processes and an empty folder.

What a block does depends on its language:

- ``sh``: run by bash. ``output`` after it: lines that must have been printed; ``…`` is any text.
- ``python``: run in one session per page. With a ``title``, or a first line such as ``# client.py``, the block is a
  file that is saved; so are ``csv`` and ``toml`` blocks.
- ``serve``: started as a service on a free port. ``http``: a request to it, and ``json`` the form of its response
  and its error messages.
- Other languages are only shown.

Two HTML comments before a block are instructions: ``<!-- not run: REASON -->`` skips it, and ``<!-- given: PATH -->``
puts a prepared run at a path.
"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import warm
from quick_events import QuickEventModel
from titer.data.dataset import Dataset
from titer.runs.run import Run
from titer.runs.train import train
from titer.training.config import Config
from titer.training.layout import CONFIG
from titer.training.loop import facts_to_learn
from warm_processes import server

PORT = "8000"
"""The port in the documents; another one is used, since this one may be taken."""
MARK = re.compile(
    r"^<!-- (?P<mark>not run|given): (?P<text>.+?) -->$|"
    r'^```(?P<kind>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<code>.*?)^```$',
    flags=re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A code block of a document."""

    kind: str
    code: str
    title: str | None
    reason: str | None
    """Why it is not run; None if it is."""
    given: tuple[str, ...]
    """Paths of prepared runs that it needs."""


def blocks(document: Path) -> Iterator[Block]:
    """Iterate over the code blocks of a document."""
    reason, given = None, []
    for found in MARK.finditer(document.read_text(encoding="utf-8")):
        if found["mark"] == "not run":
            reason = found["text"]
        elif found["mark"] == "given":
            given.append(found["text"])
        else:
            yield Block(found["kind"], found["code"], found["title"], reason, tuple(given))
            reason, given = None, []


@dataclass
class Reader:
    """A person who follows a document step by step."""

    parent: Path
    """Contains the programs, and the folder in which blocks run."""
    port: str
    runs: Mapping[str, Path] = field(default_factory=dict)
    """Prepared runs by the path at which documents use them."""
    quick_events: bool = True
    """Whether commands train small event models; Python always does."""
    service: "subprocess.Popen[str] | None" = None
    printed: str = ""

    def __post_init__(self) -> None:
        programs = self.parent / "bin"
        programs.mkdir()
        for name, words in (("python", ""), ("titer", f'-S "{warm.__file__}" call "{server()}"')):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "RAY_ADDRESS": "local"}
        self.environment[warm.WARM_WORKERS] = "1"
        if self.quick_events:
            self.environment[warm.QUICK_EVENTS] = "1"
        self.folder = self.parent / "page"
        self.folder.mkdir()
        self.names: dict[str, Any] = {"__name__": "document"}
        self.token = ""
        self.response: Any = None

    def read(self, page: Path) -> None:
        """Save, run or check every block of a document, in order."""
        for block in blocks(page):
            for path in block.given:
                shutil.copytree(self.runs[path], self.folder / path)
            if block.reason is None:
                self.do(block)

    def do(self, block: Block) -> None:
        """Save, run or check one block."""
        first_line = re.match(r"# (\w+\.\w+)\n", block.code)
        name = block.title or (first_line[1] if first_line else None)
        if name and not name.startswith("/"):
            (self.folder / name).write_text(block.code.replace(PORT, self.port), encoding="utf-8")
        elif hasattr(self, block.kind):
            getattr(self, block.kind)(block.code)

    def sh(self, code: str) -> None:
        """Run commands, and keep what they print."""
        words = ["bash", "-e", "-c", code]
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        self.printed = done.stdout

    def python(self, code: str) -> None:
        """Run Python in the session of the page, and keep what it prints."""
        printed = io.StringIO()
        with (
            chdir(self.folder),
            redirect_stdout(printed),
            patch("titer.runs.events.EventModel", QuickEventModel),
            patch("titer.api.train_run", self.train_run),
        ):
            exec(compile(code, "document", "exec"), self.names)
        self.printed = printed.getvalue()

    def train_run(self, dataset: Dataset, config: Config, out: str | Path, **options: Any) -> Run:
        """Train, or copy what a command of the page has trained with the same settings on the same data."""
        settings = config.for_facts(len(facts_to_learn(dataset.train, config.training.recent_steps)))
        for run in (Run(path.parent) for path in self.folder.glob(f"runs/*/{CONFIG}")):
            if run.is_finished and run.config == settings and run.dataset.checksum == dataset.checksum:
                return Run(shutil.copytree(run.path, out, dirs_exist_ok=True))
        return train(dataset, config, out, **options)

    def output(self, code: str) -> None:
        """Check that every line was printed; measured numbers may differ between machines."""
        printed = {without_measurements(line) for line in self.printed.splitlines()}
        for line in code.splitlines():
            assert line == "…" or without_measurements(line) in printed, f"{line}\nis not in\n{self.printed}"

    def serve(self, code: str) -> None:
        """Start the service, and wait until it listens."""
        token = re.search(r"--token (\S+)", code)
        self.token = token[1] if token else ""
        words = ["bash", "-c", f"exec {code.strip()} --port {self.port}"]
        self.service = subprocess.Popen(words, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True)
        assert self.service.stderr is not None
        assert any("running on" in line for line in self.service.stderr)
        assert self.request("GET", "/healthz") == {"status": "ok"}

    def http(self, code: str) -> None:
        """Send a request, and keep the response."""
        first, _, body = code.partition("\n")
        method, path = first.split()
        self.response = self.request(method, path, body)

    def json(self, code: str) -> None:
        """Check that a response has the form and the error messages that are shown."""
        shown = json.loads(code)
        assert form(self.response) == form(shown), self.response
        written, returned = list(messages(shown)), list(messages(self.response))
        assert written == returned, f"the document has {written}, the service returned {returned}"

    def request(self, method: str, path: str, body: str = "") -> Any:
        """Send a request to the service and return the JSON of its response."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urlopen(Request(url, body.encode() or None, headers, method=method)) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                return json.load(error)

    def stop(self) -> None:
        """Stop the service, as Ctrl-C does."""
        if self.service is not None and self.service.poll() is None:
            self.service.send_signal(signal.SIGINT)
            self.service.communicate(timeout=60)


def without_measurements(line: str) -> str:
    """Return a line without what differs between machines: measurements, clock times, ranks and column widths."""
    return " ".join(re.sub(r"\d+\.\d+%?|\d+%|\S+T\d\d:\S+|^ *\d+ ", "", line).replace("-", "").split())


def form(value: Any) -> Any:
    """Return the keys of a JSON value at every depth, and nothing of its contents."""
    if isinstance(value, dict):
        return {key: form(part) for key, part in value.items()}
    # Models differ in how much evidence they have, not in its form.
    return form(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else None


def messages(value: Any) -> Iterator[str]:
    """Iterate over the error messages in a JSON value, at every depth."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in ("error", "message") and isinstance(part, str):
                yield part
            else:
                yield from messages(part)
    elif isinstance(value, list):
        for part in value:
            yield from messages(part)
