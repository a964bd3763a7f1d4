"""``titer report``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import DeviceOption, OverwriteOption, RunArgument, Split
from titer.cli.screen import say
from titer.errors import TiterError


def report(
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("report.html"),
    split: Annotated[Split, typer.Option(help="Which split to measure on.")] = Split.test,
    examples: Annotated[int, typer.Option(min=0, max=50, help="How many good and bad questions to show.")] = 4,
    device: DeviceOption = "auto",
    overwrite: OverwriteOption = False,
) -> None:
    """Write one page about a run that opens anywhere, without a network: data, training, metrics, evidence."""
    from titer.report.report import write_report
    from titer.runs.run import Run

    if out.exists() and not overwrite:
        raise TiterError(f"{out} exists already; choose another place, or pass --overwrite")
    write_report(Run(run), out, split=split.value, device=device, examples=examples)
    say(f"{out}")
