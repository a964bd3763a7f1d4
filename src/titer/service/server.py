"""Runs the service."""

import signal
from contextlib import suppress
from pathlib import Path

import uvicorn
from pydantic import SecretStr, ValidationError

from titer.errors import ConfigError, TiterError
from titer.runs.run import Run
from titer.service.app import create_app
from titer.service.knowledge import Knowledge
from titer.service.settings import LOOPBACK, Settings

MAX_CONNECTIONS = 4000
"""More are turned away by the server itself, without a word; open requests are bounded long before."""


def run_server(run: Path, *, host: str, port: int, store: str | None, token: str | None, device: str) -> None:
    """Serve until told to stop; what has begun is finished first."""
    # Both ways to stop it mean the same, also before it listens. The server hands them on when it has ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        # A page from elsewhere, whose own name was made to lead here, is not this machine asking itself.
        settings = read_settings(token).model_copy(update={"local_only": host in LOOPBACK})
        app = create_app(Knowledge(Run(run), store=store, device=device), settings)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_level="info",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=int(settings.request_seconds) + 5,
            limit_concurrency=MAX_CONNECTIONS,
        )
        server = uvicorn.Server(config)
        server.run()
        if not server.started:
            raise TiterError("the service could not be started")


def read_settings(token: str | None) -> Settings:
    """Settings from the environment, with a token that was given otherwise."""
    try:
        return Settings() if token is None else Settings(token=SecretStr(token))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{'.'.join(map(str, first['loc']))} cannot be set to that: {first['msg']}") from None
