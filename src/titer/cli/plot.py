"""``titer plot``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import RunArgument
from titer.cli.screen import say


def plot(
    run: RunArgument,
    out: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file (default: training.png in the run).")
    ] = None,
) -> None:
    """Draw the training of a run: reward or loss, and MRR on the validation split, over the epochs."""
    from titer.runs.curves import draw_curves
    from titer.runs.run import Run
    from titer.training.layout import PICTURE

    opened = Run(run)
    place = out or opened.path / PICTURE
    draw_curves(opened, place)
    say(f"{place}")
