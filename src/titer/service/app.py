"""The service as an ASGI application."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from fastapi import Depends, FastAPI

from titer import __version__
from titer.forecasting.forecaster import Forecaster
from titer.runs.version import RunVersion
from titer.service import problems
from titer.service.about import add_about_routes
from titer.service.access import AccessLog
from titer.service.cross_origin import CrossOrigin
from titer.service.documentation import describe_token
from titer.service.event_changes import add_event_change_routes
from titer.service.events import add_event_routes
from titer.service.explore import add_explore_routes
from titer.service.facts import add_fact_routes
from titer.service.guard import Guard
from titer.service.pages import add_pages
from titer.service.parameters import check_parameters
from titer.service.peers import METRICS, RELOAD, Handlers, Peers
from titer.service.questions import add_question_routes
from titer.service.reloading import add_reload_route
from titer.service.results import keep_schemas
from titer.service.schemas import ErrorOut
from titer.service.serving import Load, Serving
from titer.service.settings import Settings
from titer.service.telemetry import Telemetry

ERROR = {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorOut.__name__}"}}}
ERRORS: dict[int | str, dict[str, Any]] = {
    # One status with the model describes it. FastAPI would prepare it again for every other status of every route.
    status: {"description": description} | ({"model": ErrorOut} if status == 500 else {"content": ERROR})
    for status, description in {
        400: "The body is not valid JSON.",
        401: "The token is missing or wrong.",
        403: "The service is read-only, accepts only requests for localhost, or not from this origin.",
        408: "The body did not arrive in time.",
        413: "The body is too large.",
        415: "The body is not declared as JSON.",
        422: "The request is invalid; the message says why.",
        429: "Too many requests of this client.",
        500: "Internal error.",
        503: "Busy, too slow, or the fact store is not available.",
    }.items()
}


def create_app(
    forecaster: Forecaster,
    settings: Settings | None = None,
    *,
    version: RunVersion | None = None,
    load: Load | None = None,
    peers: Peers | None = None,
) -> FastAPI:
    """Create the service.

    Args:
        forecaster: Answers the questions; a run loaded with its fact store.
        settings: Limits and token. None reads them from the environment.
        version: The version of the run that the forecaster was loaded from. None for that of its folder.
        load: Loads the run again for ``POST /v1/reload``. None for a service that cannot reload.
        peers: The other processes of the service. None if there are none.
    """
    keep_schemas()
    settings = settings or Settings()
    telemetry = Telemetry()

    async def own_metrics() -> str:
        return telemetry.page().decode()

    handlers: Handlers = {METRICS: own_metrics, RELOAD: lambda: serving.reload()}
    serving = Serving(forecaster, version, load, telemetry, settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with serving.open(), peers.listen(handlers) if peers else nullcontext():
            yield

    app = FastAPI(
        title="titer",
        version=__version__,
        description="Forecasts of a temporal knowledge graph, with the evidence behind them.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the host that the client sent
        responses=ERRORS,
        dependencies=[Depends(check_parameters)],
    )
    app.state.serving = serving
    problems.install(app)
    app.add_middleware(Guard, settings=settings, telemetry=telemetry)
    if settings.origins:
        app.add_middleware(CrossOrigin, origins=settings.origins)
    app.add_middleware(AccessLog)
    add_question_routes(app, settings)
    add_event_routes(app, settings)
    add_event_change_routes(app, settings)
    add_explore_routes(app, settings)
    add_fact_routes(app, settings, telemetry)
    add_about_routes(app, telemetry, peers)
    add_reload_route(app, settings, peers)
    add_pages(app)
    if settings.token is not None:
        describe_token(app)
    return app
