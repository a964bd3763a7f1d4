"""Errors in one shape that says what to do."""

from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from titer.errors import TiterError, UnknownNameError

MOST_DETAILS = 20


class ProblemError(Exception):
    """Something to tell whoever asked."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None):
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers


def answer(
    status: int,
    code: str,
    message: str,
    *,
    suggestions: list[str] | None = None,
    details: list[str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error as a response."""
    body = {"code": code, "message": message, "suggestions": suggestions or [], "details": details or []}
    return JSONResponse({"error": body}, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Let every error of an app have the one shape."""

    @app.exception_handler(ProblemError)
    async def _(_: Request, problem: ProblemError) -> JSONResponse:
        return answer(problem.status, problem.code, problem.message, headers=problem.headers)

    @app.exception_handler(UnknownNameError)
    async def _(_: Request, error: UnknownNameError) -> JSONResponse:
        return answer(422, "unknown_name", str(error).splitlines()[0], suggestions=error.suggestions)

    @app.exception_handler(TiterError)
    async def _(_: Request, error: TiterError) -> JSONResponse:
        first, *rest = str(error).splitlines()
        return answer(422, "cannot_answer", first, details=rest[:MOST_DETAILS])

    @app.exception_handler(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> JSONResponse:
        details = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
        message = "the request does not have the form that /docs describes"
        return answer(422, "bad_request", message, details=details[:MOST_DETAILS])

    @app.exception_handler(HTTPException)
    async def _(_: Request, error: HTTPException) -> JSONResponse:
        codes = {404: "not_found", 405: "wrong_method"}
        message = {404: "there is nothing here; /docs lists what there is"}.get(error.status_code, str(error.detail))
        return answer(error.status_code, codes.get(error.status_code, "error"), message, headers=error.headers)
