"""The command ``titer backtest``."""

from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import typer

from titer.cli.interruption import continued_by
from titer.cli.options import JsonOption, OverwriteOption, ThreadsOption
from titer.cli.screen import note, say, say_json, say_table
from titer.training.config import DEFAULT_MODEL

EXAMPLES = (
    "titer backtest small-world --every 14d --origins 3 --model recurrency --out backtests/small",
    "titer backtest data/events --every 30d --out backtests/events --set training.epochs=6",
)

HEADER = ["from", "train", "queries", "MRR", "Hits@1", "Hits@10", "MRR new", "baseline"]


def backtest(
    dataset: Annotated[
        str,
        typer.Argument(metavar="DATASET", help="A dataset folder, small-world, or a benchmark such as ICEWS14."),
    ],
    every: Annotated[
        str,
        typer.Option(metavar="DURATION", help="Length of the test windows: a duration, such as 30d, or time steps."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write: a run directory for each window, and backtest.json.")],
    origins: Annotated[int, typer.Option(min=1, help="Number of test windows; the last one ends with the data.")] = 5,
    valid: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Length of the validation windows (default: as the test windows)."),
    ] = None,
    model: Annotated[str | None, typer.Option(help=f"Name of a model (default: {DEFAULT_MODEL}).")] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="CONFIG", help="TOML file with settings, or a published configuration."),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change one setting, such as model.dim=64. Repeatable."),
    ] = None,
    overwrite: OverwriteOption = False,
    threads: ThreadsOption = None,
    json: JsonOption = False,
) -> None:
    """Train and test on rolling origins, to see how good the forecasts would have been over time.

    Each window is forecast by a model that was trained on earlier facts only. The same command continues a backtest
    that was interrupted.
    """
    from titer.api import configuration_file
    from titer.data.durations import duration_steps
    from titer.data.load import load_dataset
    from titer.runs.backtest import rolling_origins, run_origin, write_results
    from titer.training.config import Config
    from titer.training.loop import facts_to_learn

    settings = Config.load(configuration_file(config) if config is not None else None, model, set)
    data = load_dataset(dataset)
    settings = settings.for_facts(len(facts_to_learn(data.train, settings.training.recent_steps)))
    steps, checked = (
        None if text is None else duration_steps(text, data.axis, name)
        for text, name in ((every, "--every"), (valid, "--valid"))
    )
    found = rolling_origins(data, steps or 0, origins, checked)
    rows: list[dict[str, Any]] = []
    for number, origin in enumerate(found, start=1):
        note(f"window {number} of {len(found)}, from {origin.label}: {len(origin.dataset.train):,} facts to train on")
        with continued_by(out / origin.label, "give the same command again"):
            rows.append(run_origin(origin, settings, out, overwrite=overwrite))
        write_results(rows, data, settings, out)
    if json:
        say_json(rows)
        return
    say(f"{settings.model_name} on {data.name}, windows of {data.axis.duration(steps or 0)}")
    say_table(
        ["from", "train", "queries", "MRR", "Hits@1", "Hits@10", "MRR new", "baseline"], [_cells(row) for row in rows]
    )
    say()
    say(f"mean MRR {100 * mean(row['metrics']['mrr'] for row in rows):.2f} over {len(rows)} windows; see {out}")


def _cells(row: dict[str, Any]) -> list[str]:
    metrics, new, baseline = row["metrics"], row["novelty"].get("new"), row["baseline"]
    values = [metrics["mrr"], metrics["hits_at_1"], metrics["hits_at_10"]]
    values += [new["mrr"] if new else None, baseline["metrics"]["mrr"] if baseline else None]
    shown = ("–" if value is None else f"{100 * value:.2f}" for value in values)
    return [row["origin"], f"{row['train']:,}", f"{metrics['queries']:,}", *shown]
