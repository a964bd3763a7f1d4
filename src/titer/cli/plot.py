"""The command ``titer plot``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import OverwriteOption, RunArgument
from titer.cli.screen import say
from titer.errors import TiterError

EXAMPLES = ("titer plot runs/first", "titer plot runs/first --out curves.svg")


def plot(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="SVG file to write (default: training.svg in the run directory).")
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Draw the training curves of a run: loss or reward, and MRR on the validation split, by epoch."""
    from titer.runs.curves import draw_curves
    from titer.runs.run import Run
    from titer.training.layout import PICTURE

    opened = Run(run)
    place = out or opened.path / PICTURE
    if place.exists() and not overwrite:
        raise TiterError(f"{place} already exists; choose another file or pass --overwrite")
    draw_curves(opened, place)
    say(f"{place}")
