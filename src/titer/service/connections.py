"""Connections of the HTTP server: bounded in number, in the time for a request's header, and strict about its form."""

import asyncio
import logging
import re
import resource
import time
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

BACKLOG = 64
"""Connections that the system holds until they are accepted; also the most that are accepted in one turn."""
RESERVED_FILES = 64
"""Open files that are left for the database, the model and the log."""
MAX_HEAD = 1 << 16
END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
AMBIGUOUS = re.compile(rb"(?<!\r)\n|\r\n[ \t]|\r(?!\n)|\0")
"""Line ends and continued lines that another server could read differently."""
log = logging.getLogger("uvicorn.error")


def max_connections(most: int) -> int:
    """Return how many connections to hold at once: at most ``most``, and fewer than the process may open files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(16, min(most, soft - BACKLOG - RESERVED_FILES))


def connection_class(most: int, header_seconds: float) -> type[H11Protocol]:
    """Return the protocol class of one server.

    When all connections are in use, a new one replaces the one that has waited longest without a complete request, so
    connections that send nothing cannot lock others out.

    Args:
        most: The maximum number of connections.
        header_seconds: The time in which the header of a request must arrive.
    """
    waiting: dict[H11Protocol, None] = {}
    notes = RareNotes()

    class Connection(H11Protocol):
        """One connection of a client."""

        head = b""
        timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                oldest = next(iter(waiting), self)
                waiting.pop(oldest, None)
                oldest.transport.abort()
                notes.add("more than %d connections; closed those that sent no request", most)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            before: Any = self.cycle  # None before the first request
            if before is None or before.response_complete:
                self._wait()
                if self._is_ambiguous(data):
                    self._stop_waiting()
                    self.send_400_response("Ambiguous HTTP request received.")
                    return
            super().data_received(data)
            if self.cycle is not before:
                self._stop_waiting()

        def send_400_response(self, msg: str) -> None:
            current: Any = self.cycle
            if current is not None and not current.response_complete:
                # The body of the present request is malformed: its answer, which can no longer be sent, is dropped.
                current.disconnected = True
                current.message_event.set()
                if current.response_started:
                    self.transport.abort()
                    return
            super().send_400_response(msg)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle.response_complete:
                waiting[self] = None  # idle: the keep-alive timer closes it, or a new connection

        def _is_ambiguous(self, data: bytes) -> bool:
            self.head = (self.head + data)[: MAX_HEAD + 4]
            end = END_OF_HEAD.search(self.head)
            found = AMBIGUOUS.search(self.head, 0, end.end() if end else max(len(self.head) - 1, 0))
            return found is not None

        def _wait(self) -> None:
            waiting[self] = None
            if self.timer is None:
                self.timer = self.loop.call_later(header_seconds, self._give_up)

        def _stop_waiting(self) -> None:
            self.head = b""
            waiting.pop(self, None)
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def _give_up(self) -> None:
            notes.add("closed connections that sent no request within %g seconds", header_seconds)
            self.transport.abort()

    return Connection


class Server(uvicorn.Server):
    """A server whose failures to accept connections are one line in the log, not a traceback each."""

    async def startup(self, sockets: Any = None) -> None:
        """Start to listen."""
        notes = RareNotes()

        def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            if "accept" in str(context.get("message", "")):
                notes.add("cannot accept connections: %s", context.get("exception"))
            else:
                loop.default_exception_handler(context)

        asyncio.get_running_loop().set_exception_handler(handle)
        await super().startup(sockets)


class RareNotes:
    """Log lines that clients can cause: each at most once a minute, with the number of times."""

    def __init__(self, seconds: float = 60.0):
        self.seconds = seconds
        self._next: dict[str, float] = {}
        self._count: dict[str, int] = {}

    def add(self, message: str, *arguments: object) -> None:
        """Count a message, and log it if it was not logged in the last minute."""
        self._count[message] = self._count.get(message, 0) + 1
        if time.monotonic() >= self._next.get(message, 0.0):
            log.warning(f"{message} (%d times)", *arguments, self._count.pop(message))
            self._next[message] = time.monotonic() + self.seconds
