"""Runs the service."""

from contextlib import suppress
from pathlib import Path

import uvicorn
from pydantic import SecretStr

from titer.service.app import create_app
from titer.service.knowledge import Knowledge
from titer.service.settings import Settings
from titer.training.run import Run

SHUTDOWN_SECONDS = 20
"""How long requests that have begun may take to end when the service is stopped."""


def run_server(run: Path, *, host: str, port: int, store: str | None, token: str | None, device: str) -> None:
    """Serve until told to stop; what has begun is finished first."""
    settings = Settings(token=SecretStr(token)) if token else Settings()
    app = create_app(Knowledge(Run(run), store=store, device=device), settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="info",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        limit_concurrency=1000,
    )
    # Ctrl-C is how the service is told to stop; it has finished what it had begun by then.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()
