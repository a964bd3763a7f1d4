"""Checkpoints: the complete state of a training, so that it resumes exactly; no pickle.

Random numbers have no state: each epoch has a seed of its own.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from titer.errors import RunError
from titer.files.tensors import load_tensors, save_tensors
from titer.models.base import Model
from titer.parallel.processes import from_first, tensors_from_first
from titer.training.weights import load_state

KEPT = 2


@dataclass(frozen=True)
class Progress:
    """The progress of a training."""

    epoch: int = 0
    best_mrr: float = -1.0
    best_epoch: int = 0
    log: tuple[dict[str, Any], ...] = ()
    """One row for each epoch."""
    threads: int = 0
    """The number of CPU threads that torch computed with; 0 if nothing was computed yet."""


def save_checkpoint(
    folder: Path, model: Model, optimiser: torch.optim.Optimizer, progress: Progress, config: dict[str, Any]
) -> None:
    """Write a checkpoint, and keep the one before in case this one gets damaged."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            tensors[f"optimiser.{name}.{key}"] = torch.as_tensor(value)
    path = folder / f"checkpoint-{progress.epoch:06d}.safetensors"
    save_tensors(path, tensors, {"progress": vars(progress), "config": config})
    for old in _checkpoints(folder)[KEPT:]:
        old.unlink()


def load_checkpoint(
    folder: Path, model: Model, optimiser: torch.optim.Optimizer, config: dict[str, Any]
) -> tuple[Progress, list[str]]:
    """Restore the latest readable checkpoint; return the progress, and a message for each damaged later checkpoint.

    The first process reads it for all of them.
    """
    tensors: dict[str, Tensor] = {}

    def read() -> tuple[dict[str, Any] | None, list[str]]:
        found, progress, warnings = _latest(folder, config)
        tensors.update(found)
        return progress, warnings

    kept, warnings = from_first(read)
    if kept is None:
        return Progress(), warnings
    _restore(model, optimiser, tensors_from_first(tensors))
    progress = Progress(kept["epoch"], kept["best_mrr"], kept["best_epoch"], tuple(kept["log"]), kept.get("threads", 0))
    return progress, warnings


def _latest(folder: Path, config: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any] | None, list[str]]:
    """Return the tensors and the progress of the latest readable checkpoint, and a message for each damaged one."""
    warnings: list[str] = []
    for path in _checkpoints(folder):
        try:
            tensors, about = load_tensors(path)
            kept = about["progress"]
        except (OSError, ValueError, KeyError) as error:
            warnings.append(f"{path} is damaged and was skipped: {error}")
            continue
        if about["config"] != json.loads(json.dumps(config)):  # JSON turns tuples into lists
            raise RunError(f"{path} belongs to a training with other settings; resume it with the same ones")
        return tensors, kept, warnings
    return {}, None, warnings


def _checkpoints(folder: Path) -> list[Path]:
    """Return all checkpoints, latest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def _restore(model: Model, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    prefix = "model."
    load_state(model, {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)})
    for name, parameter in model.named_parameters():
        start = f"optimiser.{name}."
        state = {key[len(start) :]: value for key, value in tensors.items() if key.startswith(start)}
        if state:
            # Adam counts its steps on the CPU, unless the steps are recorded as a CUDA graph.
            on_device = {k: v.to(parameter.device) if v.dim() or parameter.is_cuda else v for k, v in state.items()}
            optimiser.state[parameter] = on_device
