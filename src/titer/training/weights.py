"""Weight files of models, without pickle."""

from pathlib import Path

from torch import Tensor

from titer import __version__
from titer.errors import RunError
from titer.files.tensors import load_tensors, save_tensors
from titer.models.base import Model


def save_weights(model: Model, path: Path) -> None:
    """Write all parameters and buffers of a model to a file, atomically."""
    save_tensors(path, model.state_dict(), {"model": model.name, "titer": __version__})


def load_weights(model: Model, path: Path) -> None:
    """Load a file of weights into a model built with the same settings, and check its checksum."""
    try:
        tensors, _ = load_tensors(path)
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}") from error
    try:
        load_state(model, tensors)
    except (RuntimeError, AttributeError, TypeError) as error:
        raise RunError(f"{path} does not fit the configuration: {error}") from error


def load_state(model: Model, state: dict[str, Tensor]) -> None:
    """Load parameters and buffers into a model; buffers take the size they were saved with."""
    for name, buffer in model.named_buffers():
        if name in state and state[name].shape != buffer.shape:
            owner = model.get_submodule(name.rpartition(".")[0])
            setattr(owner, name.rpartition(".")[2], buffer.new_empty(state[name].shape))
    model.load_state_dict(state)
