"""The command ``titer reproduce``."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import OverwriteOption, Split
from titer.cli.screen import note, say


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="MODEL/DATASET", help="Published configuration, such as titer/icews14.")
    ],
    out: Annotated[Path | None, typer.Option(help="Run directory to write (default: runs/LABEL-seedN).")] = None,
    data: Annotated[str | None, typer.Option(help="Dataset folder, if titer did not download it.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="TABLE.KEY=VALUE", help="Change one setting, such as training.epochs=6. Repeatable."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Label of the result, if settings were changed.")] = None,
    note_: Annotated[str, typer.Option("--note", help="Note to store in the result file.")] = "",
    split: Annotated[Split, typer.Option(help="Split to evaluate on; choose settings on valid.")] = Split.test,
    configs: Annotated[
        Path | None, typer.Option(help="Folder of configurations to use instead of the published ones.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder for the result file.")] = Path("benchmarks/results"),
    overwrite: OverwriteOption = False,
) -> None:
    """Reproduce a published result: train by its configuration, evaluate, and write the result as JSON.

    An interrupted training is resumed. With --split valid the test split is never evaluated.
    """
    from titer.data.load import load_dataset
    from titer.runs.reproduce import PUBLISHED, dataset_of, find_configuration, write_result
    from titer.runs.reproduce import reproduce as run_it
    from titer.training.config import Config

    path = find_configuration(name, configs or PUBLISHED)
    changes = set or []
    label = label or name.lower()
    config = Config.load(path, overrides=[*changes, f"training.seed={seed}"])
    dataset = load_dataset(data or dataset_of(path))
    place = out or Path("runs") / f"{label.replace('/', '-')}-seed{seed}"
    words = ["titer", "reproduce", name.lower(), "--seed", str(seed)]
    words += [word for change in changes for word in ("--set", change)]
    words += ["--label", label] if label != name.lower() else []
    words += ["--configs", str(configs)] if configs is not None else []
    own = dataset.name.lower() == dataset_of(path)
    words += [] if own else ["--data", dataset.name]
    words += ["--split", split.value] if split is not Split.test else []
    note(f"reproducing {label} with seed {seed}")
    _, found, row = run_it(
        dataset, config, place, label=label, command=shlex.join(words), split=split.value, overwrite=overwrite
    )
    file = write_result({**row, "note": note_} if note_ else row, results)
    metrics = found.metrics()
    say(f"{label} seed {seed}: MRR {100 * metrics.mrr:.2f}, Hits@1 {100 * metrics.hits_at_1:.2f}, "
        f"Hits@10 {100 * metrics.hits_at_10:.2f} on {split.value} ({found.protocol.name}); {file}")  # fmt: skip
