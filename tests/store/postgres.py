"""A PostgreSQL server for the duration of the tests."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

UNPRIVILEGED = ("postgres", "nobody")
"""Users to run the server as if root runs the tests, since PostgreSQL refuses to run as root."""
STARTS_WITHIN = 60
# These tests kill processes, not the machine, so writes need not be synced to disk.
SETTINGS = {"listen_addresses": "", "fsync": "off", "shared_buffers": "16MB", "max_connections": "40"}


def programs() -> Path | None:
    """Return the directory of PostgreSQL's programs; None if they are not installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return max((path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


class Server:
    """A server that listens on a socket in its own directory, and its stores."""

    def __init__(self, folder: Path, command: list[Any], user: dict[str, Any]):
        self.folder, self._command, self._user = folder, command, user
        self._process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self.folder, **self._user)
        self._process = process
        _wait(self, process)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # a fast shutdown
            self._process.wait(30)
            self._process = None

    def url(self, options: str = "") -> str:
        return f"postgresql://tester@/postgres?host={self.folder}{options}"

    def new_store(self) -> str:
        """Return the address of an empty schema."""
        schema = f"store_{uuid4().hex}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(f"&options=-csearch_path%3D{schema}")

    def execute(self, statement: str) -> None:
        with psycopg.connect(host=str(self.folder), user="tester", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def server() -> Generator[Server]:
    """Run a server; skip the test if PostgreSQL is not installed."""
    bin = programs()
    if bin is None:
        pytest.skip("PostgreSQL's programs (initdb, postgres) are not installed")
    # Other users cannot enter pytest's own directory, and the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="titer-pg-"))
    running = None
    try:
        user = _give_away(folder)
        data = folder / "data"
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": folder, **user}
        initdb = [bin / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run(initdb, check=False, **quiet)
        assert done.returncode == 0, done.stderr.decode()
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [bin / "postgres", "-D", data, "-k", folder, *options]
        running = Server(folder, command, user)
        running.start()
        yield running
    finally:
        if running is not None:
            running.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _give_away(folder: Path) -> dict[str, Any]:
    """Give the directory to a user that the server accepts, if root runs the tests."""
    if os.geteuid() != 0:
        return {}
    import pwd

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    owner = next((known[name] for name in UNPRIVILEGED if name in known), None)
    if owner is None:
        pytest.skip("PostgreSQL does not run as root, and there is no other user")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}


def _wait(server: Server, process: subprocess.Popen[Any]) -> None:
    give_up = time.monotonic() + STARTS_WITHIN
    while True:
        try:
            return server.execute("SELECT 1")
        except psycopg.OperationalError:
            assert process.poll() is None, (server.folder / "log").read_text()
            assert time.monotonic() < give_up, (server.folder / "log").read_text()
            time.sleep(0.05)
