"""The command ``titer``."""

import re
from typing import Annotated

import typer

from titer.cli import (
    backtest,
    compare,
    data,
    evaluate,
    events,
    explain,
    export,
    facts,
    faithfulness,
    forecast,
    likely,
    models,
    plot,
    report,
    reproduce,
    retrain,
    serve,
    settings,
    size,
    train,
    tune,
    when,
)
from titer.cli.options import examples
from titer.cli.screen import fail
from titer.errors import TiterError, one_line
from titer.version import __version__

app = typer.Typer(
    help="Forecast what happens next in a temporal knowledge graph, and see why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.add_typer(data.app, name="data")
app.add_typer(facts.app, name="facts")
for command, function, lines in (
    ("train", train.train, train.EXAMPLES),
    ("tune", tune.tune, tune.EXAMPLES),
    ("retrain", retrain.retrain, retrain.EXAMPLES),
    ("backtest", backtest.backtest, backtest.EXAMPLES),
    ("evaluate", evaluate.evaluate, evaluate.EXAMPLES),
    ("forecast", forecast.forecast, forecast.EXAMPLES),
    ("events", events.events, events.EXAMPLES),
    ("likely", likely.likely, likely.EXAMPLES),
    ("when", when.when, when.EXAMPLES),
    ("explain", explain.explain, explain.EXAMPLES),
    ("compare", compare.compare, compare.EXAMPLES),
    ("faithfulness", faithfulness.faithfulness, faithfulness.EXAMPLES),
    ("report", report.report, report.EXAMPLES),
    ("export", export.export, export.EXAMPLES),
    ("plot", plot.plot, plot.EXAMPLES),
    ("serve", serve.serve, serve.EXAMPLES),
    ("models", models.models, models.EXAMPLES),
    ("settings", settings.settings, settings.EXAMPLES),
    ("size", size.size, size.EXAMPLES),
    ("reproduce", reproduce.reproduce, ("titer reproduce path_mixture/small-world",)),
):
    app.command(command, epilog=examples(*lines))(function)
for group in (app, data.app, facts.app):
    for registered in group.registered_commands:
        # The whole first sentence: what is derived from the help text is cut to one line.
        registered.short_help = (registered.callback.__doc__ or "").strip().partition("\n")[0]


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"titer {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Forecast what happens next in a temporal knowledge graph, and see why."""


def main() -> None:
    """Run a command, and print errors that the user can fix in one line, without a traceback."""
    try:
        app()
    except TiterError as error:
        fail(str(error))
    except OSError as error:
        # Such as a full disk or a folder without write permission: not a defect of the program.
        fail(one_line(error))
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        size = re.search(r"allocate ([\d.]+ \w+)", str(error))
        missing = f"out of memory: cannot allocate {size[1]}" if size else "out of memory"
        smaller = "--set training.batch_size=N in training, --batch-size N in evaluation"
        fail(f"{missing}; smaller batches need less: {smaller}")


def _is_out_of_memory(error: Exception) -> bool:
    """Tell whether an error of Python, NumPy or PyTorch means that no memory is left, on the CPU or a GPU."""
    # By its name, as importing PyTorch for its class would slow every command down.
    is_of_gpu = type(error).__name__ == "OutOfMemoryError"
    return isinstance(error, MemoryError) or is_of_gpu or "can't allocate memory" in str(error)
