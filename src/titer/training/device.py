"""The device to compute on."""

import os
import sys

import torch

from titer.errors import ConfigError

ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"
"""Environment variable with settings of PyTorch's memory on GPUs, which are read when a GPU is first used."""


def choose_device(name: str = "auto") -> torch.device:
    """Return the device of a name.

    Args:
        name: ``cpu``, ``cuda``, ``cuda:1`` and so on; ``auto`` is a GPU if there is one, else the CPU.

    Returns:
        The device.

    Raises:
        ConfigError: If the name is not a device, or the device is not available.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"unknown device {name!r}; use cpu, cuda, cuda:N or auto") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"unsupported device {name!r}; use cpu, cuda, cuda:N or auto")
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        raise ConfigError(f"the device {name!r} is not available on this machine")
    if device.type == "cuda" and sys.platform == "linux":
        # Batches differ in size. Without this, memory that fits none of them takes as much again as what is used.
        os.environ.setdefault(ALLOCATOR, "expandable_segments:True")
    return device


def peak_memory(device: torch.device) -> dict[str, float]:
    """Return the peak GPU memory of this process for the training summary; empty for a CPU."""
    if device.type != "cuda":
        return {}
    return {"gpu_gigabytes": round(torch.cuda.max_memory_reserved(device) / 1e9, 3)}
