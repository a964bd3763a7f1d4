"""What is counted by client: wrong tokens, and requests per minute."""

import asyncio
import logging
import time
from collections import OrderedDict

from titer.service.problems import ProblemError
from titer.service.telemetry import Telemetry

MAX_CLIENTS = 10_000
MAX_DELAYED = 100
"""Wrong tokens that are delayed at once; more are answered without delay, so that they do not fill the queue."""
FIRST_SECONDS, MAX_SECONDS = 0.05, 2.0
"""The delay of the first wrong token of a client, which doubles with each further one, and the longest."""
FORGET_SECONDS = 300.0
log = logging.getLogger("uvicorn.error")


class WrongTokens:
    """Counts and delays requests with a wrong token: the more of them a client sends, the longer each takes."""

    def __init__(self, telemetry: Telemetry):
        self.telemetry = telemetry
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._num_delayed = 0

    async def punish(self, client: str) -> None:
        """Record a wrong token of a client, and wait."""
        self.telemetry.wrong_tokens.inc()
        count, last = self._counts.pop(client, (0, 0.0))
        now = time.monotonic()
        count = count + 1 if now - last < FORGET_SECONDS else 1
        self._counts[client] = (count, now)
        if len(self._counts) > MAX_CLIENTS:
            self._counts.popitem(last=False)
        if str(count).strip("0") == "1":  # 1, 10, 100, …
            log.warning("%d wrong tokens from %s", count, client)
        if self._num_delayed < MAX_DELAYED:
            self._num_delayed += 1
            try:
                await asyncio.sleep(min(FIRST_SECONDS * 2 ** min(count - 1, 20), MAX_SECONDS))
            finally:
                self._num_delayed -= 1


class RateLimit:
    """Limits the requests of each client: a bucket that holds those of one minute and fills steadily."""

    def __init__(self, per_minute: int):
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str) -> None:
        """Count a request.

        Raises:
            ProblemError: If the client has sent too many.
        """
        if not self.per_minute:
            return
        now = time.monotonic()
        left, last = self._buckets.pop(client, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - last) * self.per_minute / 60)
        self._buckets[client] = (max(left - 1, 0.0), now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            message = f"more than {self.per_minute:,} requests in a minute; try again in a second"
            raise ProblemError(429, "too_many", message, {"Retry-After": "1"})
