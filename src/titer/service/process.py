"""One process that serves a run."""

import asyncio
import logging
import multiprocessing
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from types import FrameType

import uvicorn

from titer.errors import TiterError
from titer.service.app import create_app
from titer.service.connections import BACKLOG, Server, connection_class, max_connections
from titer.service.loaded import load_version
from titer.service.logs import log_config
from titer.service.peers import Peers
from titer.service.problems import ProblemError
from titer.service.server import Options
from titer.service.serving import Serving
from titer.service.terminal import Terminal

MAX_CONNECTIONS = 4000
"""Connections beyond this replace those that wait longest; the limit on requests applies long before."""
GRACE_SECONDS = 5
"""Time in addition to that of a request in which requests are finished when the service stops."""
log = logging.getLogger("titer.service")


def serve(options: Options) -> None:
    """Serve a run in this process."""
    # A process that is loading the run must not be ended by a request to reload it.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _run(options, None, [], Alone)


def work(options: Options, listening: socket.socket, peers: Peers) -> None:
    """Serve a run as one of several processes, until the parent ends."""
    # The parent passes on what it receives; a terminal would signal all processes at once.
    for one in (signal.SIGHUP, signal.SIGINT):
        signal.signal(one, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            _run(options, peers, [listening], Worker)
    except TiterError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def _run(options: Options, peers: Peers | None, sockets: list[socket.socket], kind: "type[Alone | Worker]") -> None:
    settings = options.settings
    load = partial(load_version, options.run, options.device, options.store)
    forecaster, version = load()
    app = create_app(forecaster, settings, version=version, load=load, peers=peers)
    config = uvicorn.Config(
        app,
        host=options.host,
        port=options.port,
        log_config=log_config(settings.log_format),
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=int(settings.request_seconds) + GRACE_SECONDS,
        http=connection_class(max_connections(MAX_CONNECTIONS), settings.header_seconds),
        backlog=BACKLOG,
    )
    server = kind(config, app.state.serving)
    server.run(sockets or None)
    if not server.started:
        raise TiterError("the service could not be started; see the log above")


class Alone(Server):
    """The server of a service with one process: reloads the run on SIGHUP, or stops if its terminal was closed."""

    def __init__(self, config: uvicorn.Config, serving: Serving):
        super().__init__(config)
        self.serving, self.terminal = serving, Terminal()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hang_up)

    def _hang_up(self) -> None:
        if self.terminal.is_closed:
            self.should_exit = True
        else:
            self._reloading = asyncio.create_task(self._reload())

    async def _reload(self) -> None:
        with suppress(ProblemError):  # it is in the log
            if not await self.serving.reload():
                log.info("the run has not changed")


class Worker(Server):
    """The server of one of several processes: stops with its parent, which receives all other signals."""

    def __init__(self, config: uvicorn.Config, _: Serving):
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        parent = multiprocessing.parent_process()
        assert parent is not None
        asyncio.get_running_loop().add_reader(parent.sentinel, self._stop, parent.sentinel)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on SIGTERM; Ctrl-C is left to the parent."""
        if sig != signal.SIGINT:
            super().handle_exit(sig, frame)

    def _stop(self, sentinel: int) -> None:
        asyncio.get_running_loop().remove_reader(sentinel)
        self.should_exit = True
