"""The version that is served, and its exchange for a new one while requests are answered."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, Request

from titer.errors import TiterError
from titer.forecasting.forecaster import Forecaster
from titer.runs.version import RunVersion, signature_of
from titer.service.loaded import Loaded
from titer.service.problems import ProblemError
from titer.service.settings import Settings
from titer.service.telemetry import Telemetry

Load = Callable[[], tuple[Forecaster, RunVersion]]
log = logging.getLogger("titer.service")


class Serving:
    """The loaded version of a run; ``reload`` puts a new one in its place.

    Args:
        forecaster: The forecaster to begin with.
        version: Its version. None for that of its run.
        load: Loads the run again. None if it cannot be loaded again.
        telemetry: The metrics.
        settings: The settings.
    """

    def __init__(
        self,
        forecaster: Forecaster,
        version: RunVersion | None,
        load: Load | None,
        telemetry: Telemetry,
        settings: Settings,
    ):
        self._load, self._telemetry, self._settings = load, telemetry, settings
        if version is None and forecaster.run is not None:
            version = RunVersion.of(forecaster.run.path)
        self._first = forecaster, version
        self.loaded: Loaded  # created by ``open``, since it belongs to an event loop
        self._loading: asyncio.Task[bool] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Start the first version; close all when the block ends."""
        loaded = Loaded(*self._first, self._telemetry, self._settings)
        closing: set[asyncio.Task[None]] = set()
        self.loaded, self._loading, self._closing = loaded, None, closing
        await loaded.start()
        self._telemetry.describe(self.loaded.forecaster, self.loaded.version)
        yield
        if self._closing is closing:  # otherwise the app was started again, in another event loop
            if self._loading is not None:
                await asyncio.gather(self._loading, return_exceptions=True)
            loaded = self.loaded
        await asyncio.gather(loaded.close(), *closing)

    async def reload(self) -> bool:
        """Load the run again and serve it, unless it has not changed.

        Requests are answered with the old version until the new one is ready, and those that have begun end with it. A
        call during a reload waits for a new one, since the run may have changed after the first began.

        Returns:
            Whether another version is served now.

        Raises:
            ProblemError: The run could not be loaded; the old version stays in service.
        """
        while self._loading is not None and not self._loading.done():
            await asyncio.gather(asyncio.shield(self._loading), return_exceptions=True)
        self._loading = asyncio.create_task(self._exchange())
        # A client that does not wait for the end does not interrupt it.
        return await asyncio.shield(self._loading)

    async def _exchange(self) -> bool:
        old = self.loaded
        if self._load is None or old.version is None or old.forecaster.run is None:
            raise ProblemError(422, "cannot_answer", "this service was not started from a run, so it cannot reload it")
        if signature_of(old.forecaster.run.path) == old.version.signature:
            self._telemetry.reloads.labels("unchanged").inc()
            return False
        try:
            forecaster, version = await asyncio.to_thread(self._load)
            new = Loaded(forecaster, version, self._telemetry, self._settings)
            try:
                await new.start()
            except BaseException:
                forecaster.close()
                raise
        except Exception as error:
            self._telemetry.reloads.labels("failed").inc()
            if not isinstance(error, TiterError):
                log.exception("the run could not be loaded")
            log.error("version %s stays in service: %s", old.version.name, error)
            message = f"the run could not be loaded, and version {old.version.name} stays in service; see the log"
            raise ProblemError(503, "not_reloaded", message) from error
        self.loaded = new
        self._telemetry.reloads.labels("loaded").inc()
        self._telemetry.describe(forecaster, version)
        log.info("version %s of the run is served, trained %s", version.name, version.trained)
        closing = asyncio.create_task(old.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return True


async def _current(request: Request) -> AsyncGenerator[Loaded]:
    serving: Serving = request.app.state.serving
    with serving.loaded.used() as loaded:
        yield loaded


Current = Annotated[Loaded, Depends(_current)]
"""Parameter of a route: the version that is served, which stays open until the response is sent."""
