"""Files of tensors with a description, under one checksum; no pickle."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from titer.files.atomic import atomic_path

KEY = "titer"
"""The one key of the metadata: safetensors writes several in a random order."""


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors and a description, atomically. Equal content gives equal files.

    Args:
        path: The file.
        tensors: The tensors, on any device.
        about: Plain values to store with them.

    Raises:
        OSError: If the file cannot be written.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about = json.loads(json.dumps(about))  # as it will be read: tuples become lists
    sealed = json.dumps({"about": about, "sha256": _digest(tensors, about)})
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, metadata={KEY: sealed})
        except SafetensorError as error:  # a full disk, for example
            raise OSError(0, str(error), str(path)) from error


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read tensors and their description, and check the checksum over both.

    Files of older versions, which have several keys of metadata and no checksum, are read without a check.

    Raises:
        ValueError: If the file is damaged.
        OSError: If the file cannot be read.
    """
    with path.open("rb"):  # an error of its own for a missing file or permission
        pass
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    except (OverflowError, MemoryError, RuntimeError) as error:  # sizes that cannot be
        raise ValueError(str(error) or type(error).__name__) from error
    if metadata.keys() in ({"model", KEY}, {"config", KEY}):  # written by an older version, without a checksum
        return tensors, dict(metadata)
    try:
        sealed = json.loads(metadata[KEY])
        about, expected = sealed["about"], sealed["sha256"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("its description is not readable") from None
    if not isinstance(about, dict) or _digest(tensors, about) != expected:
        raise ValueError("its checksum does not match its content")
    return tensors, about


def _digest(tensors: dict[str, Tensor], about: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\n{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
