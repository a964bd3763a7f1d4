"""The route that reloads the run."""

import asyncio

from fastapi import FastAPI, Request, Response

from titer.service.peers import Peers
from titer.service.problems import ProblemError
from titer.service.schemas import ReloadOut
from titer.service.serving import Serving
from titer.service.settings import Settings

SHARE_OF_TIME = 0.8
"""Part of the time limit of a request after which it is answered while the new version is still being loaded."""


def add_reload_route(app: FastAPI, settings: Settings, peers: Peers | None) -> None:
    """Add the route to an app. It needs a token."""

    async def everywhere(serving: Serving) -> bool:
        changed = await serving.reload()
        return (await peers.reload() if peers else False) or changed

    @app.post(
        "/v1/reload",
        summary="Serve the new version of the run, if its folder was replaced",
        responses={202: {"model": ReloadOut, "description": "The new version is still being loaded."}},
    )
    async def reload(request: Request, response: Response) -> ReloadOut:
        if settings.token is None:
            raise ProblemError(403, "read_only", "the service is read-only; start it with a token to reload the run")
        serving: Serving = request.app.state.serving
        task = asyncio.create_task(everywhere(serving))
        await asyncio.wait({task}, timeout=SHARE_OF_TIME * settings.request_seconds)
        version = serving.loaded.version
        if not task.done():
            task.add_done_callback(_read)
            response.status_code, status = 202, "loading"
        else:
            status = "reloaded" if task.result() else "unchanged"
        return ReloadOut(
            status=status, version=version.name if version else None, trained=version.trained if version else None
        )


def _read(task: asyncio.Task[bool]) -> None:
    """Read the error of a task that no request waits for; it is in the log already."""
    if not task.cancelled():
        task.exception()
