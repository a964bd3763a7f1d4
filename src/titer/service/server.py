"""Start and stop the service, in one process or several."""

import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from titer.errors import ConfigError
from titer.service.logs import LogFormat
from titer.service.settings import LOOPBACK, Settings


@dataclass(frozen=True)
class Options:
    """What the processes of a service need to know."""

    run: Path
    host: str
    port: int
    store: str | None
    device: str
    settings: Settings


def run_server(
    run: Path,
    *,
    host: str,
    port: int,
    store: str | None,
    token: str | None,
    device: str,
    log_format: LogFormat | None = None,
    workers: int = 1,
) -> None:
    """Serve a run until the process is stopped; requests in progress are finished first."""
    # SIGTERM and Ctrl-C stop the service alike, also before it listens; the server re-raises them when it has ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        # The host check defends against DNS rebinding: a foreign page whose name resolves to this machine.
        settings = read_settings(token, log_format).model_copy(update={"local_only": host in LOOPBACK})
        options = Options(run, host, port, store, device, settings)
        if workers > 1:
            from titer.service.supervisor import supervise

            supervise(options, workers)
        else:
            from titer.service.process import serve  # a parent of workers does without torch

            serve(options)


def read_settings(token: str | None, log_format: LogFormat | None = None) -> Settings:
    """Return the settings from the environment, with those of the command line that are given."""
    given: dict[str, Any] = {"token": None if token is None else SecretStr(token), "log_format": log_format}
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{'.'.join(map(str, first['loc']))} has an invalid value: {first['msg']}") from None
