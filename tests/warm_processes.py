"""Commands of titer as processes that have imported everything already; see ``warm.py``."""

import atexit
import fcntl
import functools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

import warm
from shared_folder import VARIABLE, shared


@functools.cache
def server() -> str:
    """Return the socket of the server of this test session, and start it if no process of the session has."""
    kept = ExitStack()  # until this process ends
    atexit.register(kept.close)
    kept.enter_context(shared())
    path = Path(os.environ[VARIABLE]) / "warm"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            connection = warm.use(str(path))
        except (FileNotFoundError, ConnectionError):  # or its users have ended before this process needed it
            path.unlink(missing_ok=True)
            command = [sys.executable, warm.__file__, "serve", str(path)]
            assert subprocess.check_output(command, stdin=subprocess.DEVNULL, text=True) == "ready\n"
            connection = warm.use(str(path))
    kept.enter_context(connection)
    return str(path)


class WarmProcess:
    """A command that runs; used like ``subprocess.Popen`` with text streams."""

    def __init__(
        self,
        *words: str | Path,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
    ):
        self.args = [str(word) for word in words]
        self.returncode: int | None = None
        given, kept = list[int](), list[IO[str] | None]()
        for place, wanted in ((1, stdout), (2, stderr)):
            if wanted == subprocess.PIPE:
                read, write = os.pipe()
                given.append(write)
                kept.append(os.fdopen(read, encoding="utf-8"))
            else:
                given.append(os.dup(place))
                kept.append(None)
        self.stdout, self.stderr = kept
        empty = os.open(os.devnull, os.O_RDONLY)
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(server())
        environment = os.environ if environment is None else environment
        self.pid = warm.send(self._connection, self.args, str(folder or Path.cwd()), environment, [empty, *given])
        for descriptor in (empty, *given):
            os.close(descriptor)

    def poll(self) -> int | None:
        """Return the exit code, or None while the command runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code: negative for the signal that ended it."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = warm.receive_number(self._connection)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._connection.close()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the command has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the command at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end, and return what was printed."""
        with ThreadPoolExecutor(2) as readers:
            shown = [readers.submit(_read_all, stream) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return shown[0].result(), shown[1].result()


def _read_all(stream: IO[str] | None) -> str:
    if stream is None or stream.closed:
        return ""
    with stream:
        return stream.read()
