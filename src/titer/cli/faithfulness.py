"""``titer faithfulness``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import DeviceOption, JsonOption, Split
from titer.cli.screen import say_json, say_table
from titer.errors import RunError


def faithfulness(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories, trained on the small world.")],
    split: Annotated[Split, typer.Option(help="Which split to ask about.")] = Split.test,
    device: DeviceOption = "auto",
    json: JsonOption = False,
) -> None:
    """Show how runs on the small world do on facts with planted causes, and whether their evidence names the causes.

    MRR for each kind of planted fact; then how many true answers are ranked first, and for how many of these the best
    evidence contains every planted cause.
    """
    from titer.data.small_world import small_world
    from titer.evaluation.planted import evaluate_planted, share_of_causes_found
    from titer.training.run import Run

    world = small_world()
    found = {}
    for path in runs:
        run = Run(path)
        if run.dataset.checksum != world.dataset.checksum:
            raise RunError(f"{path} was not trained on small-world: nobody knows the true causes of its facts")
        found[path] = (run.config.model_name, evaluate_planted(run.load_model(device), world, split.value))
    if json:
        say_json([
            {"run": str(path), "model": model, "kinds": {kind: asdict(result) for kind, result in results.items()}}
            for path, (model, results) in found.items()
        ])  # fmt: skip
        return
    kinds = sorted({kind for _, results in found.values() for kind in results})
    say_table(
        ["run", "model", *(f"MRR {kind}" for kind in kinds), "ranked first", "causes found"],
        [
            [
                str(path),
                model,
                *(f"{100 * results[kind].metrics.mrr:.2f}" for kind in kinds),
                f"{sum(result.ranked_first for result in results.values()):,}",
                f"{share_of_causes_found(results.values()):.1%}",
            ]
            for path, (model, results) in found.items()
        ],
        numbers_from=2,
    )
