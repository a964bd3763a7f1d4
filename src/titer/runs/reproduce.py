"""Reproduction of published results: from a published configuration to a result file."""

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from titer import __version__
from titer.data.dataset import Dataset
from titer.errors import UnknownNameError
from titer.evaluation.evaluate import Evaluation, evaluate
from titer.evaluation.protocol import CONVENTIONS
from titer.evaluation.published_conventions import under_published_convention
from titer.files import write_json
from titer.runs.run import Run
from titer.runs.train import train
from titer.suggestions import suggest
from titer.training.config import Config
from titer.training.device import choose_device

PUBLISHED = Path(str(files("titer") / "configs"))
"""The folder of the published configurations in the package."""
PACKAGES = ("torch", "numpy", "triton", "pyarrow", "safetensors")


def configurations(folder: Path = PUBLISHED) -> list[str]:
    """Return the names of all published configurations, as ``MODEL/DATASET``."""
    return sorted(f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*.toml"))


def find_configuration(name: str, folder: Path = PUBLISHED) -> Path:
    """Return the file of a published configuration.

    Args:
        name: ``MODEL/DATASET``, such as ``titer/icews14``.
        folder: The folder of configurations.

    Returns:
        The TOML file.

    Raises:
        UnknownNameError: If there is no such configuration.
    """
    path = folder / f"{name.lower()}.toml"
    if not re.fullmatch(r"[\w-]+/[\w-]+", name) or not path.is_file():
        known = configurations(folder)
        message = f"unknown configuration {name!r} in {folder}; run titer models for the published ones"
        raise UnknownNameError(message, suggest(name.lower(), known, 4))
    return path


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
    model = run.load_model(config.training.device)
    found = evaluate(model, dataset, split)
    run.record(found)
    row = result(found, config, label=label, command=command, training=run.summary)
    if published := under_published_convention(found, model):
        protocol, metrics = published
        row["published_convention"] = {"protocol": protocol.to_dict(), "metrics": metrics.to_dict()}
    return run, found, row


def result(found: Evaluation, config: Config, *, label: str, command: str, training: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a result file: the metrics with their settings, versions, hardware and cost."""
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
        "hardware": hardware(choose_device(config.training.device)),
        "versions": versions(),
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


def hardware(device: torch.device) -> str:
    """Return the name of the hardware."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def versions() -> dict[str, str]:
    """Return the versions of titer, Python and the packages that affect the numbers."""
    found = {"titer": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
