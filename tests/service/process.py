"""A real service in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import httpx2

from quick_events import store_quick_events
from warm import QUICK_EVENTS
from warm_processes import WarmProcess

PATIENT = {"TITER_REQUEST_SECONDS": "240"}
"""Requests may take long on a busy machine."""


def completions(client: httpx2.Client, kind: str, typed: str, limit: int = 10) -> list[str]:
    """Return the names that a service completes a text to."""
    found = client.get("/v1/names", params={"kind": kind, "q": typed, "limit": limit}).raise_for_status().json()
    return [one["name"] for one in found["names"]]


class Service:
    """A service process; its log is kept in ``said``."""

    def __init__(self, run: Path, *options: str, wrapper: Sequence[str] = (), **environment: str):
        # A service without an event model trains one before it listens.
        if QUICK_EVENTS not in environment:
            store_quick_events(run)
        words = ["serve", str(run), "--port", "0", *options]
        quiet = {name: value for name, value in os.environ.items() if not name.startswith("TITER_")}
        variables = {**quiet, **PATIENT, **environment}
        self.process = (
            subprocess.Popen(
                [*wrapper, sys.executable, "-m", "titer", *words], stderr=subprocess.PIPE, text=True, env=variables
            )
            if wrapper
            else WarmProcess(*words, stderr=subprocess.PIPE, environment=variables)
        )
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.search(r"running on (http://\S+)", line):
                self.url = found[1]
                break
        else:
            self.process.stderr.close()
            self.process.wait(60)
            raise RuntimeError(f"the service did not start: {''.join(self.said)}")
        # The pipe must be drained, or a service that logs much would block.
        self._listener = Thread(target=lambda: self.said.extend(self.process.stderr or ()), daemon=True)
        self._listener.start()

    def client(self, token: str | None = None) -> httpx2.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=240)

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Stop the service, wait for its end, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(60)
        self._listener.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code
