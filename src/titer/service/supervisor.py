"""The parent of the worker processes: starts them, replaces those that die, passes signals on, stops them."""

import asyncio
import logging
import logging.config
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from titer.errors import TiterError
from titer.service.connections import BACKLOG
from titer.service.logs import log_config
from titer.service.peers import Peers
from titer.service.problems import ProblemError
from titer.service.server import Options
from titer.service.terminal import Terminal

TICK_SECONDS = 0.1
MAX_DELAY = 30.0
LONG_LIFE = 60.0
"""Seconds after which the end of a worker counts as its first."""
PRELOADED = "titer.service.preloaded"
STOP_SECONDS = 15
"""Time in addition to that of a request after which workers that do not stop are killed."""
log = logging.getLogger("titer.service")


def supervise(options: Options, num_workers: int) -> None:
    """Serve a run with several processes until this one is stopped."""
    logging.config.dictConfig(log_config(options.settings.log_format))
    for name, value in _shared_settings(num_workers).items():
        os.environ.setdefault(name, value)
    folder = Path(tempfile.mkdtemp(prefix="titer-"))
    try:
        with _listen(options) as listening:
            Supervisor(options, num_workers, listening, folder).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _shared_settings(num_workers: int) -> dict[str, str]:
    """Return environment variables of the workers: they share the cores, and the index as files."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"TITER_INDEX": "always", "OMP_NUM_THREADS": str(max(1, cores // num_workers))}


def _listen(options: Options) -> socket.socket:
    """Return the socket that all workers accept connections from, so that none is lost when a worker dies."""
    try:
        family, _, _, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise TiterError(f"cannot listen on {options.host} port {options.port}: {error}") from None


class Supervisor:
    """The workers of one service.

    Args:
        options: What the workers serve.
        num_workers: Their number.
        listening: The socket they accept connections from.
        folder: A folder for their sockets.
    """

    def __init__(self, options: Options, num_workers: int, listening: socket.socket, folder: Path):
        self.options, self.num_workers, self.listening = options, num_workers, listening
        self.peers = Peers(folder)
        # Workers are forked from a process that has imported everything and computed nothing, so they share what was
        # imported; forked processes of one that has computed with torch can hang.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([PRELOADED])
        self._workers: dict[int, BaseProcess] = {}
        self._due: dict[int, float] = {}
        self._delay: dict[int, float] = dict.fromkeys(range(num_workers), 0.0)
        self._started: dict[int, float] = {}
        self._stopping = False
        self._reloading = threading.Lock()
        self._terminal = Terminal()

    def run(self) -> None:
        """Start all workers, and watch them until a signal ends the service."""
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, self._stop)
        signal.signal(signal.SIGHUP, self._hang_up)
        try:
            self._start_all()
            while not self._stopping:
                self._watch()
        finally:
            self._end()

    def _start_all(self) -> None:
        # The first worker stores the index and the event model; the others only map them.
        for numbers in ([0], range(1, self.num_workers)):
            for number in numbers:
                self._start(number)
            while not self._stopping and not all(self.peers.socket(number).exists() for number in numbers):
                if any(not self._workers[number].is_alive() for number in numbers):
                    raise TiterError("a worker could not be started; see the log above")
                time.sleep(TICK_SECONDS)
        if not self._stopping:
            host, port = self.listening.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            log.info("running on http://%s:%d with %d workers", shown, port, self.num_workers)

    def _start(self, number: int) -> None:
        from_worker = (self.options, self.listening, Peers(self.peers.folder, number))
        worker = self._context.Process(target=_work, args=from_worker, name=f"worker {number}")
        worker.start()
        self._workers[number], self._started[number] = worker, time.monotonic()
        log.info("started worker %d as process %d", number, worker.pid)

    def _watch(self) -> None:
        """Replace workers that have ended; one that ends again and again is started less and less often."""
        wait([worker.sentinel for worker in self._workers.values()], TICK_SECONDS)
        now = time.monotonic()
        for number, worker in list(self._workers.items()):
            if not worker.is_alive() and not self._stopping:
                self.peers.socket(number).unlink(missing_ok=True)
                delay = self._delay[number] if now - self._started[number] < LONG_LIFE else 0.0
                log.error("worker %d has ended with code %s; replaced in %g s", number, worker.exitcode, delay)
                self._due[number] = now + delay
                self._delay[number] = min(max(1.0, 2 * delay), MAX_DELAY)
                del self._workers[number]
        for number, due in list(self._due.items()):
            if now >= due and not self._stopping:
                del self._due[number]
                self._start(number)

    def _stop(self, *_: Any) -> None:
        self._stopping = True

    def _hang_up(self, *_: Any) -> None:
        if self._terminal.is_closed:
            self._stopping = True
        else:
            threading.Thread(target=self._reload, daemon=True).start()

    def _reload(self) -> None:
        with self._reloading:
            try:
                if not asyncio.run(self.peers.reload()):
                    log.info("the run has not changed")
            except ProblemError as problem:
                log.error("%s", problem.message)

    def _end(self) -> None:
        """Stop all workers; each finishes its requests."""
        self.listening.close()  # new connections are refused as soon as the workers have closed theirs
        for worker in self._workers.values():
            worker.terminate()
        give_up = time.monotonic() + self.options.settings.request_seconds + STOP_SECONDS
        for worker in self._workers.values():
            worker.join(max(give_up - time.monotonic(), 0))
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(*given: Any) -> None:
    from titer.service.process import work  # the parent does without torch

    work(*given)
