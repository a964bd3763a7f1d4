"""How the worker processes of one service reach each other: a Unix socket for each in a private folder."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from titer.service.problems import ProblemError

Handlers = dict[str, Callable[[], Awaitable[Any]]]
METRICS, RELOAD = "metrics", "reload"
METRICS_SECONDS, RELOAD_SECONDS = 2.0, 600.0
MAX_LINE = 16 << 20


class Peers:
    """The workers of a service, seen from one of them or from their parent.

    Args:
        folder: The folder of the sockets, which only the user of the service can open.
        number: The number of this worker; None for the parent.
    """

    def __init__(self, folder: Path, number: int | None = None):
        self.folder, self.number = folder, number

    def socket(self, number: int) -> Path:
        """Return the socket of a worker; it exists once the worker is ready."""
        return self.folder / f"{number}.sock"

    @property
    def others(self) -> list[int]:
        """The numbers of all workers that are ready but this one."""
        return sorted(int(path.stem) for path in self.folder.glob("*.sock") if path.stem != str(self.number))

    @asynccontextmanager
    async def listen(self, handlers: Handlers) -> AsyncGenerator[None]:
        """Answer the other workers as long as the block lasts."""
        assert self.number is not None
        path = self.socket(self.number)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                reply = {"result": await handlers[(await reader.readline()).decode().strip()]()}
            except ProblemError as problem:
                reply = {"error": problem.message}
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
            writer.close()

        path.unlink(missing_ok=True)  # of a worker that was killed
        server = await asyncio.start_unix_server(serve, path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            server.close()

    async def ask(self, number: int, word: str, seconds: float) -> Any:
        """Return the result of another worker.

        Raises:
            OSError: The worker cannot be reached.
            TimeoutError: It does not answer in time.
            ProblemError: It reports an error.
        """
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_unix_connection(self.socket(number), limit=MAX_LINE)
            try:
                writer.write(word.encode() + b"\n")
                line = await reader.readline()
            finally:
                writer.close()
        if not line:
            raise ConnectionResetError(f"worker {number} has ended")
        reply = json.loads(line)
        if "error" in reply:
            raise ProblemError(503, "not_reloaded", f"worker {number}: {reply['error']}")
        return reply["result"]

    async def pages(self) -> dict[int, str]:
        """Return the metrics of all other workers; one that does not answer is left out."""
        others = self.others
        found = await asyncio.gather(
            *(self.ask(one, METRICS, METRICS_SECONDS) for one in others), return_exceptions=True
        )
        return {one: page for one, page in zip(others, found, strict=True) if isinstance(page, str)}

    async def reload(self) -> bool:
        """Reload all other workers, one after the other: the first one stores what the next ones need.

        Returns:
            Whether any of them serves another version now.

        Raises:
            ProblemError: A worker could not load the run.
        """
        changed = False
        for number in self.others:
            try:
                changed |= bool(await self.ask(number, RELOAD, RELOAD_SECONDS))
            except OSError:  # also TimeoutError: a worker that has ended loads the run when it is replaced
                continue
        return changed
