"""``titer train``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import OverwriteOption
from titer.cli.screen import note, say
from titer.training.config import DEFAULT_MODEL


def train(
    dataset: Annotated[str, typer.Argument(help="A folder, a stored dataset, a benchmark's name, or small-world.")],
    out: Annotated[Path, typer.Option(help="Where to leave the run directory.")],
    model: Annotated[
        str | None, typer.Option(help=f"Which model (default: {DEFAULT_MODEL}); titer models lists them.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with settings.")] = None,
    set: Annotated[
        list[str] | None,
        typer.Option("--set", help="TABLE.KEY=VALUE: change one setting, such as training.epochs=6."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was broken off.")] = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Train a model on a dataset and leave it in a run directory."""
    from titer.data.load import load_dataset
    from titer.runs.train import train as train_model
    from titer.training.config import Config

    settings = Config.load(config, model, set)
    data = load_dataset(dataset)
    note(f"training {settings.model_name} on {data.name} ({len(data.train):,} facts)")
    run = train_model(data, settings, out, overwrite=overwrite, resume=resume)
    measured = [found for found in run.evaluations if found["split"] == "valid"]
    result = (
        f", MRR {100 * measured[-1]['metrics']['mrr']:.2f} on valid" if measured else ", no valid split to measure on"
    )
    say(f"{out}: {settings.model_name} trained on {data.name}{result}")
