"""The command ``titer train``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import OverwriteOption, WorkersOption
from titer.cli.screen import note, say
from titer.parallel.environment import is_first, num_processes
from titer.parallel.launch import launch
from titer.training.config import DEFAULT_MODEL

EXAMPLES = (
    "titer train small-world --out runs/first",
    "titer train data/events --model titer --out runs/titer --set training.epochs=6",
    "titer train ICEWS14 --config path_mixture/icews14 --out runs/icews14",
    "titer train ICEWS14 --out runs/parallel --workers 4",
)


def train(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET", help="A dataset folder, small-world, or a downloaded benchmark such as ICEWS14."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Run directory to write.")],
    model: Annotated[
        str | None,
        typer.Option(help=f"Name of a model (default: {DEFAULT_MODEL}). titer models lists all of them."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="CONFIG",
            help="TOML file with settings, or a published configuration such as titer/icews14 "
            "(default: the defaults of the model).",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="TABLE.KEY=VALUE", help="Change one setting, such as training.epochs=6. Repeatable."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted training from its last checkpoint.")
    ] = False,
    events: Annotated[
        bool, typer.Option("--events", help="Train the event model too, instead of when it is first used.")
    ] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACKER", help="Also send the course of training to mlflow, wandb or another tracker. Repeatable."
        ),
    ] = None,
    workers: WorkersOption = 1,
    overwrite: OverwriteOption = False,
) -> None:
    """Train a model on a dataset and write a run directory.

    With --workers, or started by torchrun, several processes train one model: they divide every batch among them.
    """
    if workers > 1 and num_processes() == 1:
        sys.exit(launch(workers))
    from titer.api import configuration_file
    from titer.data.load import load_dataset
    from titer.runs.events import event_model
    from titer.runs.overwriting import check_can_create
    from titer.runs.train import train as train_model
    from titer.trackers.registry import make_trackers
    from titer.training.config import Config

    settings = Config.load(configuration_file(config) if config is not None else None, model, set)
    data = load_dataset(dataset)
    if is_first() and not resume:
        check_can_create(out, overwrite=overwrite)
    if is_first():
        note(f"training {settings.model_name} on {data.name} ({len(data.train):,} facts)")
    trackers = make_trackers(track or []) if is_first() else None
    run = train_model(data, settings, out, overwrite=overwrite, resume=resume, trackers=trackers)
    if not is_first():
        return
    if events:
        event_model(run, run.load_model(settings.training.device))
    measured = [found for found in run.evaluations if found["split"] == "valid"]
    result = f"validation MRR {100 * measured[-1]['metrics']['mrr']:.2f}" if measured else "no validation split"
    say(f"{out}: {settings.model_name} trained on {data.name}, {result}")
