"""The interface of all trackers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TrackedTraining:
    """The training that a tracker follows.

    Attributes:
        folder: The run directory.
        model: The name of the model.
        dataset: The name of the dataset.
        settings: All settings, such as ``{"training.epochs": 20}``.
    """

    folder: Path
    model: str
    dataset: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the run: that of its directory."""
        return self.folder.resolve().name


class StopTraining(Exception):  # noqa: N818 - a request, not an error
    """Raised by ``Tracker.log`` to end a training. Any other exception ends tracking only."""


class Tracker(ABC):
    """Receives the course of one training.

    Only the first process of a training has trackers. A subclass needs no arguments; it reads addresses and tokens from
    the environment, in the way that its library documents.
    """

    @abstractmethod
    def start(self, training: TrackedTraining, previous: str | None) -> str | None:
        """Begin to track a training, or continue after an interruption.

        Args:
            training: The training.
            previous: What ``start`` returned when the training that is now resumed was started; None for a new one.

        Returns:
            An identifier to continue with, which the run directory keeps; None if there is none.
        """

    @abstractmethod
    def log(self, epoch: int, values: Mapping[str, float]) -> None:
        """Record the values of an epoch.

        Args:
            epoch: The epoch, from 1. After an interruption, some epochs may be logged again.
            values: Values by name, such as ``loss``, and ``valid_mrr`` after a validation.
        """

    @abstractmethod
    def summarise(self, values: Mapping[str, float]) -> None:
        """Record the result of the finished training.

        Args:
            values: Values by name, such as ``valid_mrr`` of the kept weights, and ``seconds``.
        """

    @abstractmethod
    def close(self, *, failed: bool) -> None:
        """End tracking.

        Args:
            failed: Whether the training was interrupted or failed.
        """
