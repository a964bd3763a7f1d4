"""Weight files of models, without pickle."""

from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from titer import __version__
from titer.errors import RunError
from titer.files import atomic_path
from titer.models.base import Model


def save_weights(model: Model, path: Path) -> None:
    """Write all parameters and buffers of a model to a file, atomically."""
    with atomic_path(path) as temporary:
        state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
        save_file(state, temporary, metadata={"model": model.name, "titer": __version__})


def load_weights(model: Model, path: Path) -> None:
    """Load a file of weights into a model built with the same settings."""
    try:
        with safe_open(path, framework="pt") as file:
            load_state(model, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, RuntimeError, OSError) as error:
        raise RunError(f"{path} is damaged or does not fit the configuration: {error}") from error


def load_state(model: Model, state: dict[str, Tensor]) -> None:
    """Load parameters and buffers into a model; buffers take the size they were saved with."""
    for name, buffer in model.named_buffers():
        if name in state and state[name].shape != buffer.shape:
            owner = model.get_submodule(name.rpartition(".")[0])
            setattr(owner, name.rpartition(".")[2], buffer.new_empty(state[name].shape))
    model.load_state_dict(state)
