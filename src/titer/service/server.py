"""Start and stop the service."""

import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import SecretStr, ValidationError

from titer.errors import ConfigError, TiterError
from titer.service.app import create_app
from titer.service.connections import BACKLOG, Server, connection_class, max_connections
from titer.service.loaded import load_version
from titer.service.logs import LogFormat, log_config
from titer.service.settings import LOOPBACK, Settings

MAX_CONNECTIONS = 4000
"""Connections beyond this replace those that wait longest; the limit on requests applies long before."""


def run_server(
    run: Path,
    *,
    host: str,
    port: int,
    store: str | None,
    token: str | None,
    device: str,
    log_format: LogFormat | None = None,
) -> None:
    """Serve a run until the process is stopped; requests in progress are finished first."""
    # SIGTERM and Ctrl-C stop the service alike, also before it listens; the server re-raises them when it has ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        # The host check defends against DNS rebinding: a foreign page whose name resolves to this machine.
        settings = read_settings(token, log_format).model_copy(update={"local_only": host in LOOPBACK})
        load = partial(load_version, run, device, store)
        forecaster, version = load()
        app = create_app(forecaster, settings, version=version, load=load)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_config=log_config(settings.log_format),
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=int(settings.request_seconds) + 5,
            http=connection_class(max_connections(MAX_CONNECTIONS), settings.header_seconds),
            backlog=BACKLOG,
        )
        server = Server(config)
        server.run()
        if not server.started:
            raise TiterError("the service could not be started; see the log above")


def read_settings(token: str | None, log_format: LogFormat | None = None) -> Settings:
    """Return the settings from the environment, with those of the command line that are given."""
    given: dict[str, Any] = {"token": None if token is None else SecretStr(token), "log_format": log_format}
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{'.'.join(map(str, first['loc']))} has an invalid value: {first['msg']}") from None
