"""What a submission to the leaderboards of TGB 2.0 needs: one evaluation of each of five seeds, and their means."""

import resource
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from titer.data.dataset import Dataset
from titer.data.download import cache_folder
from titer.data.tgb.catalogue import STATIC, candidate_file
from titer.errors import DataError, RunError
from titer.evaluation.tgb import evaluate_tgb
from titer.evaluation.tgb_candidates import TgbCandidates
from titer.files import read_sealed_json, sha256_of, write_sealed_json
from titer.parallel.environment import is_first
from titer.runs.provenance import provenance
from titer.runs.run import Run
from titer.training.device import peak_memory
from titer.training.layout import CONFIG, MODEL

RECORD = "tgb.json"
NUM_SEEDS = 5
SPLITS = ("valid", "test")


def runs_of(path: Path) -> list[Run]:
    """Return the runs to report together, by seed.

    Args:
        path: A run directory, or a folder of run directories that differ in their seeds only.

    Raises:
        RunError: If there is no run, or the runs differ in more than their seeds.
    """
    if (path / CONFIG).is_file():
        return [Run(path)]
    found = [Run(child) for child in sorted(path.glob("*/")) if (child / CONFIG).is_file()]
    if not found:
        raise RunError(f"{path} is not a run directory, and has none in it")
    found.sort(key=lambda run: run.config.training.seed)
    for run in found[1:]:
        if run.dataset.checksum != found[0].dataset.checksum:
            raise RunError(f"{run.path} was trained on other data than {found[0].path}")
        if run.config.with_seed(0).to_dict() != found[0].config.with_seed(0).to_dict():
            raise RunError(f"{run.path} has other settings than {found[0].path}; only seeds may differ")
    seeds = [run.config.training.seed for run in found]
    if len(set(seeds)) < len(seeds):
        raise RunError(f"{path} has several runs with the same seed: {', '.join(map(str, seeds))}")
    return found


def candidate_files(dataset: Dataset, folder: Path | None = None) -> dict[str, Path]:
    """Return the candidate files of a dataset by split.

    Args:
        dataset: The dataset of a run.
        folder: The folder with the files; by default that of the downloaded dataset.

    Raises:
        DataError: If a file is missing.
    """
    name = dataset.name.removesuffix(STATIC)
    folder = folder or cache_folder() / name
    found = {split: folder / candidate_file(name, split) for split in SPLITS}
    for path in found.values():
        if not path.is_file():
            # Only datasets of TGB have candidate files to download.
            download = f"run titer data download {name}, or " if name.startswith("tkgl-") else ""
            raise DataError(f"{path}: no such file; {download}pass --candidates DIR")
    return found


def evaluate_run(
    run: Run,
    files: dict[str, Path],
    device: torch.device,
    *,
    candidates: dict[str, TgbCandidates] | None = None,
    batch_size: int | None = None,
) -> dict[str, Any]:
    """Evaluate a run on both splits as TGB does, and store the result in it.

    An earlier result of the same weights and files is returned as it is.

    Args:
        run: The run.
        files: The candidate files by split.
        device: The device to compute on.
        candidates: The content of files that were read before; those read here are added.
        batch_size: Queries to score together; by default what suits the device.

    Returns:
        Metrics, time and memory of both splits, and where they come from.
    """
    candidates = {} if candidates is None else candidates
    sources = {"weights": sha256_of(run.path / MODEL)} | {split: sha256_of(path) for split, path in files.items()}
    if (known := _earlier(run, sources)) is not None:
        return known
    dataset = run.dataset
    model = run.load_model(str(device))
    results: dict[str, Any] = {}
    for split, path in files.items():
        if split not in candidates:
            candidates[split] = TgbCandidates.load(path, dataset)
        found = evaluate_tgb(model, dataset, split, candidates[split], batch_size=batch_size)
        results[split] = {**found.metrics.to_dict(), "candidates": found.candidates, "seconds": round(found.seconds, 3)}
    training = {
        key: run.summary[key] for key in ("seconds", "gpu_gigabytes", "epochs", "command") if key in run.summary
    }
    record = {
        "dataset": dataset.name,
        "checksum": dataset.checksum,
        "model": model.name,
        "seed": run.config.training.seed,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        **results,
        "training": training,
        "memory": {
            **peak_memory(device),
            "resident_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 3),
        },
        "sources": sources,
        **provenance(device),
    }
    if is_first():
        write_sealed_json(run.path / RECORD, record)
    return record


def submission(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the summary of several seeds, as the form of the leaderboard asks for it.

    Args:
        records: The results of ``evaluate_run`` for runs that differ in their seeds only.

    Returns:
        Means and standard deviations of validation and test MRR, mean time, peak memory, and each record.
    """
    first = records[0]
    summary: dict[str, Any] = {"dataset": first["dataset"], "model": first["model"]}
    summary["seeds"] = [record["seed"] for record in records]
    for split in SPLITS:
        values = [record[split]["mrr"] for record in records]
        # Of a sample: a single seed says nothing about others.
        spread = statistics.stdev(values) if len(values) > 1 else None
        summary[f"{split}_mrr"] = {"mean": statistics.fmean(values), "standard_deviation": spread}
    gigabytes = [record["training"].get("gpu_gigabytes", 0.0) for record in records]
    gigabytes += [record["memory"].get("gpu_gigabytes", 0.0) for record in records]
    return {
        **summary,
        "parameters": first["parameters"],
        "training_seconds": statistics.fmean(record["training"].get("seconds", 0.0) for record in records),
        "test_seconds": statistics.fmean(record["test"]["seconds"] for record in records),
        "gpu_gigabytes": max(gigabytes) or None,
        "resident_gigabytes": max(record["memory"]["resident_gigabytes"] for record in records),
        "hardware": first["hardware"],
        "commit": first["commit"],
        "missing_seeds": max(NUM_SEEDS - len(records), 0),
        "runs": list(records),
    }


def _earlier(run: Run, sources: dict[str, str]) -> dict[str, Any] | None:
    try:
        found = read_sealed_json(run.path / RECORD)
    except (OSError, ValueError):
        return None
    return found if found.get("sources") == sources else None
