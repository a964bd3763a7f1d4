"""Cross-origin requests (CORS): which pages of other sites may read responses; none by default."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from titer.service.guard import HEADERS

PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-Id",
    "Access-Control-Max-Age": "600",
}
EXPOSED = "X-Request-Id, Retry-After"


class CrossOrigin:
    """Middleware that lets pages of listed origins send requests and read the responses.

    A browser asks for permission with a preflight request, which has no token and is answered here. The request itself
    needs the token like any other. Passwords that a browser remembers are not accepted from other origins: a page sends
    the token itself, as a bearer token.

    Args:
        app: The application.
        origins: The origins, such as ``https://example.org``.
    """

    def __init__(self, app: ASGIApp, origins: tuple[str, ...]):
        self.app, self.origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        origin = Headers(scope=scope).get("origin", "") if scope["type"] == "http" else ""
        allowed = {"Access-Control-Allow-Origin": origin} if origin in self.origins else {}

        async def reply(part: Message) -> None:
            if part["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(part.get("headers", [])))
                headers.add_vary_header("Origin")
                if allowed:
                    headers.update({**allowed, "Access-Control-Expose-Headers": EXPOSED})
                part = {**part, "headers": headers.raw}
            await send(part)

        is_preflight = allowed and scope["method"] == "OPTIONS"
        if is_preflight and "access-control-request-method" in Headers(scope=scope):
            await Response(status_code=204, headers={**HEADERS, **PREFLIGHT})(scope, receive, reply)
        else:
            await self.app(scope, receive, reply)
