"""The command ``titer size``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import JsonOption
from titer.cli.screen import say, say_json

EXAMPLES = ("titer size runs/first", "titer size titer/icews14")


def size(
    what: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A run directory, or a published configuration such as titer/icews14."),
    ],
    data: Annotated[
        str | None, typer.Option(help="Dataset folder (default: that of the run, or the downloaded benchmark).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Count the parameters of a model and the multiply-adds of its matrix products.

    The model need not be trained.
    """
    import torch

    from titer.data.load import load_dataset
    from titer.evaluation.size import BATCH_SIZE, Size
    from titer.models.registry import model_class
    from titer.runs.provenance import versions
    from titer.runs.reproduce import dataset_of, find_configuration
    from titer.runs.run import Run
    from titer.training.config import Config

    if Path(what).is_dir():
        config, dataset = Run(what).config, load_dataset(data or what)
    else:
        path = find_configuration(what)
        config, dataset = Config.load(path), load_dataset(data or dataset_of(path))
    torch.manual_seed(config.training.seed)  # the facts that a model reads may depend on its weights
    model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    model.prepare(dataset.train, dataset.valid)  # the shapes of some models depend on the facts
    found = Size.of(model, dataset)
    if json:
        about = {"model": config.model_name, "dataset": dataset.name, "checksum": dataset.checksum}
        say_json({**about, "batch_size": BATCH_SIZE, **found.to_dict(), "versions": versions()})
        return
    say(f"{config.model_name} on {dataset.name}")
    say(f"  {found.parameters:>13,} parameters")
    if found.multiply_adds_per_step is not None:
        say(f"  {found.multiply_adds_per_step:>13,} multiply-adds per query and hop in training, forward pass")
    say(f"  {found.multiply_adds_per_question:>13,} multiply-adds per query in evaluation")
    say(f"Matrix products only, in batches of {BATCH_SIZE}; work shared by a batch is divided among its queries.")
