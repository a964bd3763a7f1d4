"""``titer plot``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import RunArgument
from titer.cli.screen import say


def plot(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="The SVG file to write (default: training.svg in the run directory).")
    ] = None,
) -> None:
    """Draw the training curves of a run: loss or reward, and MRR on the validation split, by epoch."""
    from titer.runs.curves import draw_curves
    from titer.runs.run import Run
    from titer.training.layout import PICTURE

    opened = Run(run)
    place = out or opened.path / PICTURE
    draw_curves(opened, place)
    say(f"{place}")
