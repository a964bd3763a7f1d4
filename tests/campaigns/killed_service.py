"""A service that is killed while clients add facts to it, and what must be in its store afterwards."""

import http.client
import json
import os
import re
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from campaigns.forked import start, titer, wait

TOKEN = "a-token-for-campaigns"
CLIENTS = 3
BATCH = 3
"""Facts in a request, which are stored all or not at all."""
TALKS = {"subject": "Aldoria", "relation": "hold talks with", "time": "2023-07-01"}
START_SECONDS = 120


class KilledService:
    """A service process with clients, each in a process of its own.

    Args:
        folder: A folder with a run, for its output and the notes of the clients.
    """

    def __init__(self, folder: Path):
        self.folder, self.output = folder, folder / "output"
        self.process = 0
        self.port = 0
        self.said = ""

    def start(self) -> None:
        """Start the service, and wait until it listens."""
        self._fork()
        give_up = time.monotonic() + START_SECONDS
        while True:
            said = self.output.read_text() if self.output.exists() else ""
            if found := re.search(r"running on http://127\.0\.0\.1:(\d+)", said):
                self.port = int(found[1])
                return
            ended, status = os.waitpid(self.process, os.WNOHANG)
            if ended or time.monotonic() > give_up:
                raise RuntimeError(f"the service did not start ({status}): {said[-2000:]}")
            time.sleep(0.02)

    def kill_during_start(self, seconds: float) -> None:
        """Start the service, and kill it some time later."""
        self._fork()
        time.sleep(seconds)
        self.kill()

    def kill_with_clients(self, seconds: float) -> None:
        """Let clients add facts, and kill the service some time later."""
        clients = [start(lambda c=c: self._add(c), self.folder / f"client-{c}.output") for c in range(CLIENTS)]
        time.sleep(seconds)
        self.kill()
        for client in clients:
            wait(client)

    def kill(self) -> None:
        """Kill the service."""
        os.kill(self.process, signal.SIGKILL)
        wait(self.process)
        self.said = self.output.read_text()[-2000:] if self.output.exists() else ""

    @property
    def num_acknowledged(self) -> int:
        """Number of facts that the service has confirmed."""
        return BATCH * sum(len(self._acknowledged(client)) for client in range(CLIENTS))

    def problems(self) -> list[str]:
        """Return what is wrong with the facts in the store, which is read over HTTP."""
        stored = self._stored()
        sequences = [fact["sequence"] for fact in stored]
        found = [f"numbers out of order: {sequences[:50]}"] if sequences != list(range(1, len(stored) + 1)) else []
        names = Counter(fact["object"] for fact in stored)
        found += [f"stored twice: {name}" for name, count in names.items() if count > 1]
        batches: defaultdict[tuple[str, str], int] = defaultdict(int)
        for name in names:
            _, client, number, _ = name.split()
            batches[client, number] += 1
        found += [f"a part of a batch is stored: {batch}" for batch, size in batches.items() if size != BATCH]
        for client in range(CLIENTS):
            lost = [number for number in self._acknowledged(client) if (str(client), number) not in batches]
            found += [f"acknowledged and lost: batches {lost[:10]} of client {client}"] if lost else []
        errors = [path.read_text() for path in self.folder.glob("client-*.output") if path.stat().st_size]
        found += [f"a client: {text[-500:]}" for text in errors]
        # What the service before this one said tells most about what its clients were answered.
        return [f"{problem}\n{self.said}" for problem in found]

    def _fork(self) -> None:
        self.output.unlink(missing_ok=True)
        os.environ["TITER_TOKEN"] = TOKEN
        self.process = start(titer("serve", self.folder / "run", "--port", "0", "--device", "cpu"), self.output)

    def _add(self, client: int) -> None:
        """Add batches until the service does not answer; the batch without an answer is sent again the next time."""
        notes = os.open(self._notes(client), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        number = len(self._acknowledged(client))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while True:
            names = [f"Place {client} {number} {i}" for i in range(BATCH)]
            facts = [{**TALKS, "object": name} for name in names]
            try:
                status, answer = self._request(connection, "POST", "/v1/facts", {"facts": facts})
            except (OSError, http.client.HTTPException):
                return  # killed
            if status != 200 or answer["added"] + answer["known"] != BATCH:
                print(f"status {status}: {answer}")
                return
            os.write(notes, f"{number}\n".encode())
            number += 1

    def _stored(self) -> list[dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        stored: list[dict[str, Any]] = []
        while True:
            since = stored[-1]["sequence"] if stored else 0
            status, answer = self._request(connection, "GET", f"/v1/facts?since={since}&limit=10000")
            assert status == 200, answer
            if not answer["facts"]:
                connection.close()
                return stored
            stored += answer["facts"]

    def _request(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    def _notes(self, client: int) -> Path:
        return self.folder / f"client-{client}.acknowledged"

    def _acknowledged(self, client: int) -> list[str]:
        notes = self._notes(client)
        return notes.read_text().splitlines() if notes.exists() else []
