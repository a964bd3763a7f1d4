"""The file of a run that holds its event model."""

from dataclasses import asdict
from pathlib import Path

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import RunError
from titer.events.config import EventConfig
from titer.events.model import EventModel
from titer.files.tensors import load_tensors, save_tensors
from titer.version import __version__

FORMAT = 5
"""Changes when the same tensors mean something else, so that forecasts from an older file are not silently wrong."""


def save_events(events: EventModel, path: Path) -> None:
    """Write an event model to a file, atomically."""
    save_tensors(path, events.state_dict(), {"config": asdict(events.config), "format": FORMAT, "titer": __version__})


def load_events(path: Path, vocabulary: Vocabulary, axis: TimeAxis) -> EventModel:
    """Load an event model from a file.

    Raises:
        RunError: The file is damaged, was made with other relations, or by an older version.
    """
    try:
        tensors, about = load_tensors(path)
        if about.get("format") != FORMAT:
            raise RunError(f"{path} was made by another version of titer; delete it to train event forecasts again")
        events = EventModel(vocabulary, axis, EventConfig(**about["config"]))
        events.load_state_dict(tensors)
    except (RuntimeError, OSError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}; delete it to train event forecasts again") from error
    return events.eval()
