"""Checks of every request (token, host, size, duration) and the security headers of every response."""

import asyncio
import hmac
import logging
import time
from base64 import b64decode
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from titer.service.problems import ProblemError, answer
from titer.service.settings import LOOPBACK, Settings
from titer.service.telemetry import Telemetry

OPEN = "/healthz"
"""The one path that needs no token, so that supervisors can check the service."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
log = logging.getLogger("uvicorn.error")


class Guard:
    """The outermost middleware: every response, errors included, has one format and the security headers."""

    def __init__(self, app: ASGIApp, settings: Settings, telemetry: Telemetry):
        self.app, self.settings, self.telemetry = app, settings, telemetry
        self._num_open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or respond with an error."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        reply = _Reply(scope["method"], send)
        # A HEAD request is answered like GET, without the body.
        scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        self._num_open += 1
        try:
            refusal = await self._pass_on(scope, receive, reply)
            if refusal is not None:
                await refusal(scope, receive, reply)
        finally:
            self._num_open -= 1
            # The route's pattern, since clients can make up any number of paths.
            route = getattr(scope.get("route"), "path", "other")
            self.telemetry.requests.labels(route, reply.status).inc()
            self.telemetry.seconds.labels(route).observe(time.perf_counter() - started)

    async def _pass_on(self, scope: Scope, receive: Receive, reply: "_Reply") -> Response | None:
        """Handle a request; return an error response if it failed."""
        body = _Body(receive, self.settings.max_bytes)
        try:
            self._check(scope)
            body.check_length(Headers(scope=scope).get("content-length", ""))
            async with asyncio.timeout(self.settings.request_seconds):
                await self.app(scope, body, reply.unless(body))
            return body.problem and body.problem.response()
        except ProblemError as problem:
            return problem.response()
        except TimeoutError:
            message = (
                f"the request took more than {self.settings.request_seconds:g} seconds; ask for less, or try later"
            )
            late = ProblemError(503, "too_slow", message, {"Retry-After": "1"})
            return late.response() if not reply.begun else None
        except Exception:
            # Details are logged for the operator and not sent to the client.
            log.exception("internal error at %s", getattr(scope.get("route"), "path", "no route"))
            message = "internal error, logged by the service; try again, or contact the operator"
            return answer(500, "internal", message) if not reply.begun else None

    def _check(self, scope: Scope) -> None:
        # Only the path is compared, since a full URL would depend on headers that the client chooses.
        if scope["path"] == OPEN:
            return
        headers = Headers(scope=scope)
        if self.settings.token is None and self.settings.local_only and not _is_local(headers.get("host", "")):
            message = "only Host: localhost is accepted; set a token to serve other hosts"
            raise ProblemError(403, "wrong_host", message)
        if self.settings.token is not None:
            token = self.settings.token.get_secret_value().encode(errors="surrogateescape")
            if not hmac.compare_digest(given_token(headers.get("authorization", "")), token):
                message = "token required: send it as 'Authorization: Bearer TOKEN', or as the password of any user"
                realm = {"WWW-Authenticate": 'Basic realm="titer", charset="UTF-8"'}
                raise ProblemError(401, "needs_token", message, realm)
        if self._num_open > self.settings.max_requests:
            raise ProblemError(503, "busy", "too many requests at once; try again in a second", {"Retry-After": "1"})


class _Body:
    """The body of a request, limited in size whether or not its length is declared."""

    def __init__(self, receive: Receive, max_bytes: int):
        self.receive, self.max_bytes = receive, max_bytes
        self.num_bytes = 0
        self.problem: ProblemError | None = None

    def check_length(self, declared: str) -> None:
        """Reject a body whose declared length is too large before reading it."""
        if declared.isdecimal() and int(declared) > self.max_bytes:
            raise self._too_large()

    async def __call__(self) -> Message:
        part = await self.receive()
        self.num_bytes += len(part.get("body", b""))
        if self.num_bytes > self.max_bytes:
            self.problem = self._too_large()
            raise self.problem
        return part

    def _too_large(self) -> ProblemError:
        return ProblemError(413, "too_large", f"a body may have at most {self.max_bytes:,} bytes; split the request")


class _Reply:
    """A response being sent: adds the security headers and records the status."""

    def __init__(self, method: str, send: Send):
        self.method, self.send = method, send
        self.status = int(HTTPStatus.INTERNAL_SERVER_ERROR)
        self.begun = False

    async def __call__(self, part: Message) -> None:
        if part["type"] == "http.response.start":
            self.begun, self.status = True, part["status"]
            headers = MutableHeaders(raw=list(part.get("headers", [])))
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            part = {**part, "headers": headers.raw}
        elif self.method == "HEAD":
            part = {**part, "body": b""}
        await self.send(part)

    def unless(self, body: _Body) -> Send:
        """Return a sender that drops a response made from a body that was cut off for its size."""

        async def send(part: Message) -> None:
            if body.problem is None:
                await self(part)

        return send


def _is_local(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False


def given_token(authorization: str) -> bytes:
    """Return the token of an Authorization header: a bearer token, or the password of basic authentication."""
    kind, _, given = authorization.partition(" ")
    raw = given.strip().encode("latin-1")  # Headers are decoded as Latin-1, so this restores the bytes that were sent.
    if kind.lower() == "basic":
        try:
            return b64decode(raw, validate=True).partition(b":")[2]
        except ValueError:
            return b""
    return raw if kind.lower() == "bearer" else b""
