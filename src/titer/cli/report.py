"""The command ``titer report``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import DeviceOption, OverwriteOption, RunArgument, Split
from titer.cli.screen import say
from titer.errors import TiterError

EXAMPLES = ("titer report runs/first --out report.html",)


def report(
    run: RunArgument,
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    split: Annotated[Split, typer.Option(help="Split on which the run is evaluated.")] = Split.test,
    examples: Annotated[int, typer.Option(min=0, max=50, help="Number of well and of badly answered queries.")] = 4,
    device: DeviceOption = "auto",
    overwrite: OverwriteOption = False,
) -> None:
    """Write an HTML report about a run: data, training, metrics, evidence.

    The report is one self-contained file that needs no network.
    """
    from titer.report.report import write_report
    from titer.runs.run import Run

    if out.exists() and not overwrite:
        raise TiterError(f"{out} already exists; choose another file or pass --overwrite")
    write_report(Run(run), out, split=split.value, device=device, examples=examples)
    say(f"{out}")
