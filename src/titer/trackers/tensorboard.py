"""Training curves for TensorBoard, in the run directory."""

from collections.abc import Mapping

from titer.extras import missing
from titer.trackers.base import TrackedTraining, Tracker

FOLDER = "tensorboard"
"""The folder of the curves in a run directory."""


class TensorBoardTracker(Tracker):
    """Writes curves that ``tensorboard --logdir RUN`` shows.

    Raises:
        MissingPackageError: If TensorBoard is not installed.
    """

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise missing("tracking with TensorBoard", "track") from error
        self._open = SummaryWriter

    def start(self, training: TrackedTraining, previous: str | None) -> str | None:
        """Open a new event file; TensorBoard joins those of one folder."""
        self._writer = self._open(str(training.folder / FOLDER))
        return None

    def log(self, epoch: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, epoch)

    def summarise(self, values: Mapping[str, float]) -> None:
        """Add one point for each value."""
        for name, value in values.items():
            self._writer.add_scalar(f"result/{name}", value)

    def close(self, *, failed: bool) -> None:
        """Write what is left, and close the file."""
        self._writer.close()
