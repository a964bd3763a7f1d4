"""The command ``titer serve``."""

from typing import Annotated, Literal

import typer

from titer.cli.interruption import note_state
from titer.cli.options import DeviceOption, RunArgument, StoreOption, ThreadsOption
from titer.cli.screen import note

EXAMPLES = ("titer serve runs/first", "TITER_TOKEN=secret titer serve runs/first --host 0.0.0.0")


def serve(
    run: RunArgument,
    host: Annotated[
        str, typer.Option(help="Address to listen on. The default is reachable from this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = 8000,
    store: StoreOption = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TITER_TOKEN",
            help="Token required on every request. Without one the service is read-only.",
            show_default=False,
        ),
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="Number of processes that answer requests; they share memory and port.")
    ] = 1,
    log_format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(
            help="Format of log lines. TITER_LOG_FORMAT sets it too; the default is text.", show_default=False
        ),
    ] = None,
) -> None:
    """Serve forecasts of a run over HTTP, with a web page at /.

    The API is documented at /docs of the running service.
    """
    from titer.service.server import run_server
    from titer.service.settings import LOOPBACK
    from titer.training.layout import EVENTS

    if token is None and host not in LOOPBACK:
        note(f"warning: every client that can reach {host} can send questions; set --token to require a token")
    note_state(run)
    if not (run / EVENTS).is_file():
        note("training the event model, once for this run, before the service starts")
    run_server(
        run, host=host, port=port, store=store, token=token, device=device, log_format=log_format, workers=workers
    )
