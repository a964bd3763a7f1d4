"""The file of a run that holds its event model."""

import json
from dataclasses import asdict
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import RunError
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.files import atomic_path
from titer.version import __version__


def save_events(events: EventModel, path: Path) -> None:
    """Write an event model to a file, atomically."""
    state = {name: tensor.contiguous().cpu() for name, tensor in events.state_dict().items()}
    with atomic_path(path) as temporary:
        save_file(state, temporary, metadata={"config": json.dumps(asdict(events.config)), "titer": __version__})


def load_events(path: Path, vocabulary: Vocabulary, axis: TimeAxis) -> EventModel:
    """Load an event model from a file.

    Raises:
        RunError: The file is damaged, or was made with other relations.
    """
    try:
        with safe_open(path, framework="pt") as file:
            config = EventConfig(**json.loads(file.metadata()["config"]))
            events = EventModel(vocabulary, axis, config)
            events.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, RuntimeError, OSError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}; delete it to train event forecasts again") from error
    return events.eval()
