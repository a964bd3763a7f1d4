"""The id of every request, and a line in the log about it."""

import logging
import re
import time
from http import HTTPStatus
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from titer.service.guard import PROBES
from titer.service.logs import FIELDS, REQUEST_ID

HEADER = "X-Request-Id"
SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}", re.ASCII)
"""Ids that are taken over from a client or proxy; any other is replaced, since it is logged and sent back."""
QUIET = (*PROBES, "/metrics")
"""Paths that supervisors request all the time; they are logged only when they fail."""
MAX_PATH = 200
log = logging.getLogger("titer.access")


class AccessLog:
    """Middleware that gives every request an id and logs it with its status and duration.

    Neither headers nor the query are logged, so no token is.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope).get(HEADER, ""))
        started, status = time.perf_counter(), int(HTTPStatus.INTERNAL_SERVER_ERROR)

        async def reply(part: Message) -> None:
            nonlocal status
            if part["type"] == "http.response.start":
                status = part["status"]
                headers = MutableHeaders(raw=list(part.get("headers", [])))
                headers[HEADER] = request_id
                part = {**part, "headers": headers.raw}
            await send(part)

        within = REQUEST_ID.set(request_id)
        method, path = scope["method"], scope["path"]
        try:
            await self.app(scope, receive, reply)
        finally:
            if path not in QUIET or status >= HTTPStatus.BAD_REQUEST:
                _write(method, path, status, time.perf_counter() - started, (scope.get("client") or ("",))[0])
            REQUEST_ID.reset(within)


def _request_id(sent: str) -> str:
    return sent if SANE.fullmatch(sent) else uuid4().hex


def _write(method: str, path: str, status: int, seconds: float, client: str) -> None:
    path = path[:MAX_PATH]
    fields = {"method": method, "path": path, "status": status, "duration_ms": round(seconds * 1000, 3)}
    level = logging.ERROR if status >= HTTPStatus.INTERNAL_SERVER_ERROR else logging.INFO
    message = "%s %s %d in %.1f ms from %s"
    log.log(level, message, method, path, status, seconds * 1000, client, extra={FIELDS: {**fields, "client": client}})
