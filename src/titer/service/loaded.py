"""One version of the served run, in memory."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from titer.errors import RunError, TiterError
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.past_windows import PastWindows
from titer.runs.events import event_evaluations
from titer.runs.version import RunVersion, signature_of
from titer.service.batching import Batcher
from titer.service.problems import ProblemError
from titer.service.profiles import Profiles
from titer.service.readiness import Readiness
from titer.service.settings import Settings
from titer.service.telemetry import Telemetry

MAX_ATTEMPTS = 5
Result = TypeVar("Result")


class Loaded:
    """A forecaster with everything that depends on it. Requests use one version from their begin to their end.

    Attributes:
        forecaster: Answers the questions.
        version: The version of the run; None for a model that comes from no run.
        batcher: Runs the model.
        profiles: The known facts as columns.
        windows: Past event forecasts.
        readiness: The readiness check.
    """

    def __init__(self, forecaster: Forecaster, version: RunVersion | None, telemetry: Telemetry, settings: Settings):
        self.forecaster, self.version = forecaster, version
        self.batcher = Batcher(forecaster, telemetry, size=settings.batch_size, max_waiting=settings.max_waiting)
        self.profiles = Profiles(forecaster)
        self.windows = PastWindows(forecaster)
        self.readiness = Readiness(forecaster.refresh)
        self._num_users = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._evaluations: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])

    async def start(self) -> None:
        """Warm up, before the first request."""
        await self.batcher.__aenter__()
        await asyncio.to_thread(self.evaluations)

    async def close(self) -> None:
        """Wait for the requests that use this version, then close the connections to the database."""
        await self._unused.wait()
        await self.batcher.__aexit__()
        self.forecaster.close()

    @contextmanager
    def used(self) -> Generator["Loaded"]:
        """Keep this version open for the duration of a request."""
        self._num_users += 1
        self._unused.clear()
        try:
            yield self
        finally:
            self._num_users -= 1
            if not self._num_users:
                self._unused.set()

    def evaluations(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the recorded evaluations of the model and of its event forecasts."""
        run = self.forecaster.run
        if run is not None and not run.is_replaced:
            found = run.evaluations, event_evaluations(run)
            if not run.is_replaced:  # otherwise they may belong to the new run
                self._evaluations = found
        return self._evaluations

    def change_store(self, work: Callable[[], Result]) -> Result:
        """Do work that uses the fact store.

        Raises:
            ProblemError: The run directory was replaced, and with it the fact store that this version has opened.
        """
        self._check_store()
        result = work()
        # Facts that were written to a file that is no longer in place must not be acknowledged.
        self._check_store()
        return result

    def _check_store(self) -> None:
        run = self.forecaster.run
        if run is not None and self.forecaster.store_address == run.store_path and run.is_replaced:
            message = "the run was replaced, and its fact store with it; reload the service first (POST /v1/reload)"
            raise ProblemError(503, "replaced", message, {"Retry-After": "5"})


def load_version(path: Path, device: str, store: str | Path | None) -> tuple[Forecaster, RunVersion]:
    """Load a run with its event model; load it again if it is replaced meanwhile.

    Args:
        path: The run directory.
        device: The device of the model.
        store: Database of added facts, as for ``Forecaster.load``.

    Returns:
        The forecaster, all of whose files belong to one version, and the version.

    Raises:
        TiterError: The run or its store cannot be used.
    """
    for _ in range(MAX_ATTEMPTS):
        version = RunVersion.of(path)
        try:
            forecaster = Forecaster.load(path, device, store)
            # Before any request: training takes longer than a request may.
            forecaster.prepare_events()
        except (TiterError, OSError):
            if signature_of(path) == version.signature:
                raise
            continue
        if signature_of(path) == version.signature:
            return forecaster, version
        forecaster.close()
    raise RunError(f"{path} was replaced {MAX_ATTEMPTS} times while it was loaded; try again later")
