"""Routes about past forecasts, and about whether and when under a changed history."""

import asyncio
from typing import Annotated

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from titer.forecasting.events.results import WhenForecast
from titer.forecasting.track_record import CheckedForecast
from titer.service.problems import ProblemError, check_limits
from titer.service.schemas import ChangesIn, TripleIn
from titer.service.serving import Current
from titer.service.settings import Settings


class WhenIn(TripleIn, ChangesIn):
    """An event, and changes of the history to forecast it under."""

    start: Annotated[str, Field(max_length=100)] | None = Field(
        None, alias="from", description="First step. Default: the step after the last known fact."
    )
    explain: int = Field(0, ge=0, description="Pieces of evidence of each sort.")


class PastWindowsOut(BaseModel):
    """The latest past windows."""

    steps: int = Field(description="Length of the windows in time steps.")
    words: str = Field(description="The length in words.")
    starts: list[str] = Field(description="First steps of the windows, latest first.")
    dates: list[str] = Field(description="The same steps, for readers.")
    checked: list[CheckedForecast] = Field(description="Windows that are compared already, latest first.")


def add_event_change_routes(app: FastAPI, settings: Settings) -> None:
    """Add the routes to an app."""

    @app.post(
        "/v1/when", summary="Forecast when an event happens or ends if facts are left out of the history or added to it"
    )
    async def when(request: WhenIn, current: Current) -> WhenForecast:
        check_limits(("explain", request.explain, settings.max_evidence))
        names = (request.subject, request.relation, request.object)
        return await current.batcher.alone(
            lambda: current.forecaster.when(*names, start=request.start, explain=request.explain, **request.changes)
        )

    @app.get("/v1/past-forecasts", summary="List the past windows whose forecasts can be compared with what happened")
    async def past_forecasts(current: Current) -> PastWindowsOut:
        def work() -> PastWindowsOut:
            windows, axis = current.windows, current.forecaster.axis
            current.forecaster.refresh()
            starts = windows.starts
            return PastWindowsOut(
                steps=windows.steps,
                words=axis.duration(windows.steps),
                starts=starts,
                dates=[axis.words(axis.step(start)) for start in starts],
                checked=windows.known(),
            )

        return await asyncio.to_thread(work)

    @app.get("/v1/past-forecast", summary="Compare the forecast of a past window with what happened")
    async def past_forecast(
        current: Current,
        start: Annotated[str, Query(max_length=100, description="One of the starts of /v1/past-forecasts.")],
    ) -> CheckedForecast:
        def work() -> CheckedForecast:
            current.forecaster.refresh()
            if start not in current.windows.starts:
                message = f"no past window begins at {start!r}; see /v1/past-forecasts"
                raise ProblemError(422, "cannot_answer", message)
            return current.windows.check(start)

        return await current.batcher.alone(work)
