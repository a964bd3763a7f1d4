"""Weight files of models, without pickle."""

from pathlib import Path

from torch import Tensor

from titer import __version__
from titer.errors import RunError
from titer.files.tensors import load_tensors, save_tensors
from titer.models.base import Model

MIN_MAPPED = 1 << 20
"""Size in bytes from which it is worth sharing the memory of a tensor: tables of entities, not layers."""


def save_weights(model: Model, path: Path) -> None:
    """Write all parameters and buffers of a model to a file, atomically."""
    save_tensors(path, model.state_dict(), {"model": model.name, "titer": __version__})


def load_weights(model: Model, path: Path, *, mapped: bool = False) -> None:
    """Load a file of weights into a model built with the same settings, and check its checksum.

    Args:
        model: The model.
        path: The file.
        mapped: Use the memory-mapped file as weights, on the CPU, instead of copying them, except for small ones.
            Processes that serve the same run share its memory.

    Raises:
        RunError: If the file is damaged or belongs to another configuration.
    """
    try:
        tensors, _ = load_tensors(path)
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if mapped:
        # Copies are aligned in memory, which products of matrices depend on in their last digit.
        tensors = {name: value if value.nbytes >= MIN_MAPPED else value.clone() for name, value in tensors.items()}
    try:
        load_state(model, tensors, assign=mapped)
    except (RuntimeError, AttributeError, TypeError) as error:
        raise RunError(f"{path} does not fit the configuration: {error}") from error


def load_state(model: Model, state: dict[str, Tensor], *, assign: bool = False) -> None:
    """Load parameters and buffers into a model; buffers take the size they were saved with.

    Args:
        model: The model.
        state: Its parameters and buffers by name.
        assign: Use these tensors themselves instead of copying their values.
    """
    for name, buffer in model.named_buffers():
        if name in state and state[name].shape != buffer.shape:
            owner = model.get_submodule(name.rpartition(".")[0])
            setattr(owner, name.rpartition(".")[2], buffer.new_empty(state[name].shape))
    model.load_state_dict(state, assign=assign)
