"""The readiness check: whether questions can be answered now."""

import asyncio
import time
from collections.abc import Callable

from titer.service.problems import ProblemError

MAX_AGE = 1.0
"""Seconds for which a result is used again: the check needs no token, so it must not load the database."""
MAX_SECONDS = 5.0


class Readiness:
    """Checks that the fact store responds; one check at a time, whatever the number of requests.

    Args:
        check: Raises an error if questions cannot be answered.
    """

    def __init__(self, check: Callable[[], object]):
        self._check = check
        self._task: asyncio.Task[object] | None = None
        self._started = 0.0

    async def wait(self) -> None:
        """Return if the service is ready.

        Raises:
            StoreError: The fact store cannot be used.
            ProblemError: The fact store does not respond in time.
        """
        task, now = self._task, time.monotonic()
        if task is None or (task.done() and now - self._started > MAX_AGE):
            task = self._task = asyncio.create_task(asyncio.to_thread(self._check))
            self._started = now
        try:
            # A client that disconnects must not end the check that others wait for.
            await asyncio.wait_for(asyncio.shield(task), MAX_SECONDS)
        except TimeoutError:
            message = "the fact store does not respond; try again later, or contact the operator"
            raise ProblemError(503, "no_store", message, {"Retry-After": "5"}) from None
