"""Error responses, all in one format."""

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from titer.errors import StoreError, TiterError, UnknownNameError

MAX_DETAILS = 20
LONGEST_DETAIL = 1200
MESSAGES = {
    400: ("not_json", "the body is not valid JSON; send JSON in UTF-8"),
    404: ("not_found", "no such path; see /docs for all routes"),
    405: ("wrong_method", "this path does not support the method; see the Allow header, and /docs for all routes"),
}
log = logging.getLogger("uvicorn.error")


class ProblemError(Exception):
    """An error to report to the client."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        suggestions: list[str] | None = None,
    ):
        super().__init__(message)
        self.suggestions = suggestions
        self.status, self.code, self.message, self.headers = status, code, message, headers

    def response(self) -> JSONResponse:
        """Return the error as a response."""
        return answer(self.status, self.code, self.message, suggestions=self.suggestions, headers=self.headers)


def check_limits(*limits: tuple[str, int, int]) -> None:
    """Check what a request asks for.

    Args:
        *limits: What is limited, its value in the request, and the highest value that is accepted.

    Raises:
        ProblemError: A value is too high.
    """
    for name, value, limit in limits:
        if value > limit:
            raise ProblemError(422, "too_much", f"{name} may be at most {limit:,}, not {value:,}")


def answer(
    status: int,
    code: str,
    message: str,
    *,
    suggestions: list[str] | None = None,
    details: list[str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error response."""
    details = [_readable(line) for line in (details or [])[:MAX_DETAILS]]
    body = {"code": code, "message": _readable(message), "suggestions": suggestions or [], "details": details}
    return JSONResponse({"error": body}, status_code=status, headers=dict(headers or {}))


def _readable(text: str) -> str:
    """Shorten a text that may quote the request, and replace characters that cannot be encoded."""
    short = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
    return short.encode(errors="replace").decode()


def install(app: FastAPI) -> None:
    """Make every error response of an app use the one format."""

    @app.exception_handler(ProblemError)
    async def _(_: Request, problem: ProblemError) -> JSONResponse:
        return problem.response()

    @app.exception_handler(UnknownNameError)
    async def _(_: Request, error: UnknownNameError) -> JSONResponse:
        return answer(422, "unknown_name", str(error).splitlines()[0], suggestions=error.suggestions)

    @app.exception_handler(StoreError)
    async def _(_: Request, error: StoreError) -> JSONResponse:
        # The client can fix nothing and must not learn the database's address, so the details are only logged.
        log.error("%s", error)
        message = "the fact store is not available; try again later, or contact the operator"
        return answer(503, "no_store", message, headers={"Retry-After": "5"})

    @app.exception_handler(TiterError)
    async def _(_: Request, error: TiterError) -> JSONResponse:
        first, *rest = str(error).splitlines() or [type(error).__name__]
        return answer(422, "cannot_answer", first, details=rest)

    @app.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()
        details = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in found]
        if any(one["type"] == "json_invalid" for one in found):
            return answer(400, *MESSAGES[400], details=details)
        message = "the request does not match the schema in /docs"
        if request.method != "GET":
            message += "; send the body as application/json"
        return answer(422, "bad_request", message, details=details)

    @app.exception_handler(HTTPException)
    async def _(_: Request, error: HTTPException) -> JSONResponse:
        code, message = MESSAGES.get(error.status_code, ("error", str(error.detail)))
        return answer(error.status_code, code, message, headers=error.headers)
