"""``titer size``."""

from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import JsonOption
from titer.cli.screen import say, say_json


def size(
    what: Annotated[str, typer.Argument(help="A run directory, or MODEL/DATASET, such as titer/icews14.")],
    data: Annotated[str | None, typer.Option(help="The dataset's folder, if it was not downloaded by titer.")] = None,
    json: JsonOption = False,
) -> None:
    """Count the parameters of a model, and the multiply-adds of its matrix products; nothing needs to be trained."""
    import torch

    from titer.data.load import load_dataset
    from titer.evaluation.size import BATCH_SIZE, Size
    from titer.models.registry import model_class
    from titer.runs.reproduce import find_configuration, versions
    from titer.runs.run import Run
    from titer.training.config import Config

    if Path(what).is_dir():
        config, dataset = Run(what).config, load_dataset(data or what)
    else:
        path = find_configuration(what)
        config, dataset = Config.load(path), load_dataset(data or path.stem)
    torch.manual_seed(config.training.seed)  # what a model looks at may depend on its weights
    model = model_class(config.model_name)(dataset.vocabulary, dataset.axis, config.model)
    model.prepare(dataset.train, dataset.valid)  # some models learn their shape from the facts
    found = Size.of(model, dataset)
    if json:
        about = {"model": config.model_name, "dataset": dataset.name, "checksum": dataset.checksum}
        say_json({**about, "batch_size": BATCH_SIZE, **found.to_dict(), "versions": versions()})
        return
    say(f"{config.model_name} on {dataset.name}")
    say(f"  {found.parameters:>13,} parameters")
    if found.multiply_adds_per_step is not None:
        say(f"  {found.multiply_adds_per_step:>13,} multiply-adds per step, in training")
    say(f"  {found.multiply_adds_per_question:>13,} multiply-adds per question, in evaluation")
    say(f"Products of matrices, in batches of {BATCH_SIZE}; what a batch shares is divided among its questions.")
