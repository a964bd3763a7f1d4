"""What stands before every request: its size, its time, its token, and the headers of the answer."""

import asyncio
import hmac
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from titer.service.measures import Measures
from titer.service.problems import ProblemError, answer
from titer.service.settings import Settings

OPEN = "/healthz"
"""Where nobody needs a token, so that whoever starts the service can see that it lives."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class BodyLimit:
    """Turns away a body that is too large, however it is sent, before it fills memory."""

    def __init__(self, app: ASGIApp, most_bytes: int):
        self.app, self.most_bytes = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count what it sends."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        message = f"a request may have {self.most_bytes:,} bytes; send less at a time"
        refusal = answer(413, "too_large", message, headers=HEADERS)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self.most_bytes:
            await refusal(scope, receive, send)
            return
        received, refused = 0, False

        async def counted() -> Message:
            nonlocal received
            part = await receive()
            received += len(part.get("body", b""))
            if received > self.most_bytes:
                raise ProblemError(413, "too_large", message)
            return part

        async def answered(part: Message) -> None:
            nonlocal refused
            # Whatever was made of half a body is not the answer.
            if received <= self.most_bytes:
                await send(part)
            elif not refused:
                refused = True
                await refusal(scope, receive, send)

        await self.app(scope, counted, answered)


def given_token(request: Request) -> str:
    """The token of a request: as a bearer of it, or as the password that a browser asks for."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            return b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return given.strip() if kind.lower() == "bearer" else ""


def check_token(request: Request, settings: Settings) -> None:
    """With a token set, everything but ``/healthz`` needs it; compared in constant time."""
    if settings.token is None or request.url.path == OPEN:
        return
    if not hmac.compare_digest(given_token(request).encode(), settings.token.get_secret_value().encode()):
        message = "send the service's token as 'Authorization: Bearer TOKEN', or as the password of any user"
        raise ProblemError(401, "needs_token", message, {"WWW-Authenticate": 'Basic realm="titer", charset="UTF-8"'})


def watch(settings: Settings, measures: Measures) -> Callable[..., Awaitable[Response]]:
    """A middleware that bounds the time of a request, measures it, and adds the headers of safety."""

    async def middleware(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        started = time.perf_counter()
        try:
            check_token(request, settings)
            async with asyncio.timeout(settings.request_seconds):
                response = await call_next(request)
        except TimeoutError:
            message = f"this took longer than {settings.request_seconds:g} seconds; ask for less, or again later"
            response = answer(503, "too_slow", message, headers={"Retry-After": "1"})
        except ProblemError as problem:
            response = answer(problem.status, problem.code, problem.message, headers=problem.headers)
        route = request.scope.get("route")
        name = getattr(route, "path", "other")  # not the address itself, which anyone can make up
        measures.requests.labels(name, response.status_code).inc()
        measures.seconds.labels(name).observe(time.perf_counter() - started)
        for header, value in HEADERS.items():
            response.headers.setdefault(header, value)
        return response

    return middleware
