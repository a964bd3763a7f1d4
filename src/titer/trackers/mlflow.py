"""Runs in MLflow: on a server, in a database or in a folder, as ``MLFLOW_TRACKING_URI`` says."""

import os
import time
from collections.abc import Mapping

from titer.extras import missing
from titer.trackers.base import TrackedTraining, Tracker

EXPERIMENT = "titer"
"""The experiment that runs belong to, unless ``MLFLOW_EXPERIMENT_NAME`` names another."""


class MLflowTracker(Tracker):
    """Records settings, curves and the result as a run of MLflow.

    Raises:
        MissingPackageError: If MLflow is not installed, or what it needs to write to a database.
    """

    def __init__(self) -> None:
        try:
            from mlflow.entities import Metric, Param
            from mlflow.tracking import MlflowClient

            # The client has no global state, unlike the functions of mlflow: a script may have a run of its own.
            self._client, self._metric, self._param = MlflowClient(), Metric, Param
        except ImportError as error:
            raise missing("tracking with MLflow", "mlflow") from error

    def start(self, training: TrackedTraining, previous: str | None) -> str | None:
        """Create a run, or continue the previous one."""
        if previous is not None:
            self._run = previous
            self._client.update_run(previous, status="RUNNING")
            return previous
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        experiment = self._client.get_experiment_by_name(name)
        place = experiment.experiment_id if experiment is not None else self._client.create_experiment(name)
        tags = {"model": training.model, "dataset": training.dataset}
        self._run: str = self._client.create_run(place, run_name=training.name, tags=tags).info.run_id
        settings = [self._param(key, str(value)) for key, value in training.settings.items()]
        self._client.log_batch(self._run, params=settings)
        return self._run

    def log(self, epoch: int, values: Mapping[str, float]) -> None:
        """Add a point to each metric."""
        now = int(time.time() * 1000)
        metrics = [self._metric(name, value, now, epoch) for name, value in values.items()]
        self._client.log_batch(self._run, metrics=metrics)

    def summarise(self, values: Mapping[str, float]) -> None:
        """Record the result as metrics of their own."""
        self.log(0, {f"result.{name}": value for name, value in values.items()})

    def close(self, *, failed: bool) -> None:
        """Mark the run as finished or failed."""
        self._client.set_terminated(self._run, "FAILED" if failed else "FINISHED")
