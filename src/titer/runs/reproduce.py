"""Reproduction of published results: from a published configuration to a result file."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from titer.data.benchmarks import BENCHMARKS
from titer.data.dataset import Dataset
from titer.errors import UnknownNameError
from titer.evaluation.evaluate import Evaluation, evaluate
from titer.evaluation.protocol import CONVENTIONS
from titer.evaluation.published_conventions import under_published_convention
from titer.files import write_json
from titer.runs.provenance import provenance
from titer.runs.run import Run
from titer.runs.train import train
from titer.suggestions import suggest
from titer.training.config import Config
from titer.training.device import choose_device

PUBLISHED = Path(str(files("titer") / "configs"))
"""The folder of the published configurations in the package."""


def configurations(folder: Path = PUBLISHED) -> list[str]:
    """Return the names of all published configurations, as ``MODEL/DATASET`` or ``MODEL/DATASET-RECIPE``."""
    return sorted(f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*.toml"))


def find_configuration(name: str, folder: Path = PUBLISHED) -> Path:
    """Return the file of a published configuration.

    Args:
        name: ``MODEL/DATASET`` or ``MODEL/DATASET-RECIPE``, such as ``titer/icews14`` or ``titer/icews14-paper``.
        folder: The folder of configurations.

    Returns:
        The TOML file.

    Raises:
        UnknownNameError: If there is no such configuration.
    """
    path = folder / f"{name.lower()}.toml"
    if not re.fullmatch(r"[\w-]+/[\w-]+", name) or not path.is_file():
        known = configurations(folder)
        place = "" if folder == PUBLISHED else f" in {folder}"
        message = f"unknown configuration {name!r}{place}; titer models lists the published ones"
        raise UnknownNameError(message, suggest(name.lower(), known, 4))
    return path


def dataset_of(configuration: Path) -> str:
    """Return the name of the dataset of a configuration's file, such as ``icews14`` for ``icews14-paper.toml``."""
    stem = configuration.stem.lower()
    known = sorted((name.lower() for name in BENCHMARKS), key=len, reverse=True)
    return next((name for name in known if f"{stem}-".startswith(f"{name}-")), stem)


def reproduce(
    dataset: Dataset,
    config: Config,
    out: Path,
    *,
    label: str,
    command: str,
    split: str = "test",
    overwrite: bool = False,
) -> tuple[Run, Evaluation, dict[str, Any]]:
    """Train by a configuration, evaluate on one split only, and return the run, the evaluation and the result."""
    run = train(dataset, config, out, overwrite=overwrite, resume=not overwrite)
    run.finish({**run.summary, "command": command})
    model = run.load_model(config.training.device)
    found = evaluate(model, dataset, split)
    run.record(found)
    row = result(found, config, label=label, command=command, training=run.summary)
    if published := under_published_convention(found, model):
        protocol, metrics = published
        row["published_convention"] = {"protocol": protocol.to_dict(), "metrics": metrics.to_dict()}
    return run, found, row


def result(found: Evaluation, config: Config, *, label: str, command: str, training: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a result file: the metrics, and everything needed to measure them again.

    Args:
        found: The evaluation.
        config: The configuration that the model was evaluated with.
        label: The name of the result in tables.
        command: The command that makes the result.
        training: The summary of the training.

    Returns:
        Metrics, breakdowns and calibration with dataset, protocol, configuration, command, commit, versions, hardware
        and durations.
    """
    conventions = {name: protocol for name, protocol in CONVENTIONS.items() if protocol.filter == found.protocol.filter}
    by_group = found.to_dict()
    return {
        "label": label,
        "model": config.model_name,
        "dataset": by_group["dataset"],
        "split": found.split,
        "convention": found.protocol.name,
        "protocol": found.protocol.to_dict(),
        "seed": config.training.seed,
        "config": config.to_dict(),
        "command": command,
        **provenance(choose_device(config.training.device)),
        "metrics": found.metrics().to_dict(),
        "conventions": {name: found.metrics(protocol).to_dict() for name, protocol in conventions.items()},
        "calibration": by_group["calibration"],
        "entities": by_group["breakdown"]["entities"],
        "direction": by_group["breakdown"]["direction"],
        "seconds": {"training": round(training["seconds"], 1), "testing": round(found.seconds, 2)},
        "gpu_gigabytes": training.get("gpu_gigabytes"),
    }


def write_result(row: dict[str, Any], folder: Path) -> Path:
    """Write a result file. The name of one that is not of the test split contains the split."""
    suffix = "" if row["split"] == "test" else f"-{row['split']}"
    name = f"{row['label'].replace('/', '-')}-seed{row['seed']}{suffix}.json"
    write_json(folder / name, row)
    return folder / name
