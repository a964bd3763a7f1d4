"""Which device to compute on."""

import torch

from titer.errors import ConfigError


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; ``auto`` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"there is no device {name!r}; cpu, cuda or auto") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"titer computes on cpu or cuda, not on {name!r}")
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        raise ConfigError(f"the device {name!r} is not available on this machine")
    return device


def peak_memory(device: torch.device) -> dict[str, float]:
    """The most memory of a GPU that this process has held at once, as a row of a log; nothing for a CPU."""
    if device.type != "cuda":
        return {}
    return {"gpu_gigabytes": round(torch.cuda.max_memory_reserved(device) / 1e9, 3)}
