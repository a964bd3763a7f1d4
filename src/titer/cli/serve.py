"""``titer serve``."""

from typing import Annotated

import typer

from titer.cli.options import DeviceOption, RunArgument, StoreOption
from titer.cli.screen import note


def serve(
    run: RunArgument,
    host: Annotated[str, typer.Option(help="Where to listen; only this machine can reach the default.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="On which port; 0 takes any free one.")] = 8000,
    store: StoreOption = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TITER_TOKEN", help="What everyone must send; without one, nobody can add facts.", show_default=False
        ),
    ] = None,
    device: DeviceOption = "auto",
) -> None:
    """Serve a run: forecasts, evidence, what-ifs and new facts over HTTP, and a page at /."""
    from titer.service.server import run_server
    from titer.service.settings import LOOPBACK

    if token is None and host not in LOOPBACK:
        note(f"anyone who can reach {host} can ask; --token asks for a token")
    run_server(run, host=host, port=port, store=store, token=token, device=device)
