"""Query parameters that a route does not have."""

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from titer.service.problems import ProblemError
from titer.suggestions import hint, suggest

API = "/v1/"


async def check_parameters(request: Request) -> None:
    """Reject a request for data with an unknown query parameter: a misspelt filter would have no effect.

    Args:
        request: The request. Views of the page and routes for operators accept any parameter.

    Raises:
        ProblemError: The route does not have a parameter of the query.
    """
    route = request.scope.get("route")
    if request.method != "GET" or not isinstance(route, APIRoute) or not route.path.startswith(API):
        return
    known = _names(route.dependant)
    for name in request.query_params:
        if name not in known:
            message = f"unknown query parameter {name!r}"
            message += hint(name, known) if known else f"; {route.path} has none"
            raise ProblemError(422, "unknown_parameter", message, suggestions=suggest(name, known))


def _names(dependant: Dependant) -> list[str]:
    """Return the names of the query parameters of a route and of what it depends on."""
    return [
        *(field.alias for field in dependant.query_params),
        *(name for one in dependant.dependencies for name in _names(one)),
    ]
