"""Runs in Weights & Biases; ``WANDB_MODE=offline`` keeps them on this machine."""

import os
from collections.abc import Mapping

from titer.extras import missing
from titer.trackers.base import TrackedTraining, Tracker

PROJECT = "titer"
"""The project that runs belong to, unless ``WANDB_PROJECT`` names another."""


class WandbTracker(Tracker):
    """Records settings, curves and the result as a run of Weights & Biases.

    Raises:
        MissingPackageError: If wandb is not installed.
    """

    def __init__(self) -> None:
        try:
            import wandb
        except ImportError as error:
            raise missing("tracking with Weights & Biases", "wandb") from error
        self._wandb = wandb

    def start(self, training: TrackedTraining, previous: str | None) -> str | None:
        """Create a run, or continue the previous one."""
        self._run = self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=training.name,
            id=previous,
            resume="allow",
            config=dict(training.settings),
            tags=[training.model, training.dataset],
        )
        return self._run.id

    def log(self, epoch: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        self._run.log({"epoch": epoch, **values}, step=epoch)

    def summarise(self, values: Mapping[str, float]) -> None:
        """Add the result to the summary of the run."""
        self._run.summary.update({f"result/{name}": value for name, value in values.items()})

    def close(self, *, failed: bool) -> None:
        """End the run."""
        self._run.finish(exit_code=int(failed))
