"""Checks of every request (token, host, origin, size, duration) and the security headers of every response."""

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

from titer.service.clients import RateLimit, WrongTokens
from titer.service.problems import ProblemError, answer
from titer.service.settings import LOOPBACK, Settings
from titer.service.telemetry import Telemetry

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PROBES = ("/healthz", "/readyz")
"""The only paths that need no token, so that supervisors can check the service."""
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
        self._held = _Held(settings.max_body_bytes)
        self._wrong_tokens = WrongTokens(telemetry)
        self._rate = RateLimit(settings.requests_per_minute)

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
        body = _Body(receive, self.settings, self._held)
        try:
            await self._check(scope)
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
        finally:
            body.release()

    async def _check(self, scope: Scope) -> None:
        # Only the path is compared, since a full URL would depend on headers that the client chooses.
        if scope["path"] in PROBES:
            return
        headers = Headers(scope=scope)
        client = (scope.get("client") or ("unknown",))[0]
        _check_framing(headers)
        self._rate.check(client)
        if self.settings.token is None and self.settings.local_only and not _is_local(headers.get("host", "")):
            message = "only Host: localhost is accepted; set a token to serve other hosts"
            raise ProblemError(403, "wrong_host", message)
        if self.settings.token is not None:
            token = self.settings.token.get_secret_value().encode(errors="surrogateescape")
            authorization = headers.get("authorization", "")
            if not hmac.compare_digest(given_token(authorization), token):
                if authorization:  # a browser asks for the password after a request without one
                    await self._wrong_tokens.punish(client)
                message = "token required: send it as 'Authorization: Bearer TOKEN', or as the password of any user"
                realm = {"WWW-Authenticate": 'Basic realm="titer", charset="UTF-8"'}
                raise ProblemError(401, "needs_token", message, realm)
        if scope["method"] not in SAFE_METHODS:
            _check_origin(headers, self.settings.origins)
            _check_content_type(headers)
        if self._num_open > self.settings.max_requests:
            raise ProblemError(503, "busy", "too many requests at once; try again in a second", {"Retry-After": "1"})


def _check_framing(headers: Headers) -> None:
    """Reject a body with two lengths: a proxy could read another one, and take its rest for a request."""
    if "transfer-encoding" in headers and "content-length" in headers:
        message = "a request may have Content-Length or Transfer-Encoding, not both"
        raise ProblemError(400, "ambiguous", message, {"Connection": "close"})


def _check_origin(headers: Headers, allowed: tuple[str, ...]) -> None:
    """Reject requests that a page of another site makes a browser send, with the password it remembers."""
    origin = headers.get("origin")
    if origin is not None and origin in allowed:
        return
    site = headers.get("sec-fetch-site")
    is_own = origin is None or urlsplit(origin).netloc == headers.get("host", "")
    if not (site in ("same-origin", "none") if site is not None else is_own):
        message = "requests from pages of other sites are rejected; TITER_ORIGINS lists those to accept"
        raise ProblemError(403, "wrong_origin", message)


def _check_content_type(headers: Headers) -> None:
    """Require JSON, which a page of another site cannot send without asking first."""
    has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if has_body and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ProblemError(415, "not_json", "send the body as Content-Type: application/json")


class _Held:
    """The bytes of all bodies that are being received or used."""

    def __init__(self, max_bytes: int):
        self.max_bytes, self.num_bytes = max_bytes, 0


class _Body:
    """The body of a request, limited in size and time whether or not its length is declared."""

    def __init__(self, receive: Receive, settings: Settings, held: _Held):
        self.receive, self.max_bytes, self.held = receive, settings.max_bytes, held
        self.seconds, self.started = settings.body_seconds, time.monotonic()
        self.num_bytes = 0
        self.is_complete = False
        self.problem: ProblemError | None = None

    def check_length(self, declared: str) -> None:
        """Reject a body whose declared length is too large before reading it."""
        if declared.isdecimal() and int(declared) > self.max_bytes:
            raise self._too_large()

    def release(self) -> None:
        """Count the body as gone."""
        self.held.num_bytes -= self.num_bytes
        self.num_bytes = 0

    async def __call__(self) -> Message:
        if self.is_complete:  # only the end of the connection can follow
            return await self.receive()
        try:
            async with asyncio.timeout(max(self.started + self.seconds - time.monotonic(), 0)):
                part = await self.receive()
        except TimeoutError:
            message = f"the body did not arrive within {self.seconds:g} seconds"
            raise self._reject(ProblemError(408, "too_slow", message, {"Connection": "close"})) from None
        size = len(part.get("body", b""))
        self.num_bytes += size
        self.held.num_bytes += size
        if self.num_bytes > self.max_bytes:
            raise self._reject(self._too_large())
        if self.held.num_bytes > self.held.max_bytes:
            message = "too many bytes are being received; try again in a second"
            raise self._reject(ProblemError(503, "busy", message, {"Retry-After": "1", "Connection": "close"}))
        self.is_complete = not part.get("more_body", False)
        return part

    def _reject(self, problem: ProblemError) -> ProblemError:
        self.problem = problem
        return problem

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
