"""The command ``titer``."""

from typing import Annotated

import typer

from titer import __version__
from titer.cli import (
    compare,
    data,
    evaluate,
    facts,
    faithfulness,
    forecast,
    models,
    plot,
    report,
    reproduce,
    serve,
    size,
    train,
)
from titer.cli.screen import fail
from titer.errors import TiterError

app = typer.Typer(
    help="Forecast what happens next in a temporal knowledge graph, and see why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data.app, name="data")
app.add_typer(facts.app, name="facts")
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("faithfulness")(faithfulness.faithfulness)
app.command("forecast")(forecast.forecast)
app.command("compare")(compare.compare)
app.command("models")(models.models)
app.command("plot")(plot.plot)
app.command("report")(report.report)
app.command("reproduce")(reproduce.reproduce)
app.command("serve")(serve.serve)
app.command("size")(size.size)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"titer {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Forecast what happens next in a temporal knowledge graph, and see why."""


def main() -> None:
    """Run a command; what the user can mend is said in a line, without a traceback."""
    try:
        app()
    except TiterError as error:
        fail(str(error))
    except OSError as error:
        # A full disk, a folder that may not be written to: nothing here is a defect of the program.
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
