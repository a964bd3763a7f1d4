"""The run directory."""

import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

from titer import __version__
from titer.data.dataset import Dataset
from titer.data.dataset_folder import open_dataset, save_dataset
from titer.errors import RunError
from titer.evaluation.evaluate import Evaluation
from titer.files import (
    atomic_directory,
    check_sealed_text,
    read_sealed_json,
    sha256_of,
    write_sealed_json,
    write_sealed_text,
    write_text,
)
from titer.models.base import Model
from titer.runs.build import build_model
from titer.runs.card import card
from titer.runs.evaluation_settings import changed_settings, with_evaluation_settings
from titer.runs.overwriting import STAGED, check_can_create
from titer.runs.rank_files import rank_file, save_ranks
from titer.runs.version import file_signature
from titer.threads import use_threads
from titer.toml import to_toml
from titer.training.config import Config
from titer.training.device import choose_device
from titer.training.layout import CARD, CONFIG, DATASET, LOG, METRICS, MODEL, STORE, SUMMARY
from titer.training.settings import read_toml
from titer.training.weights import load_weights


class Run:
    """A folder with a trained model and everything needed to use it on another machine.

    It holds ``config.toml``, ``model.safetensors``, ``dataset/`` (facts, names and dates), ``metrics.json``,
    ``training.jsonl`` and a card, ``README.md``; also ``facts.db`` once facts were added. No file is a pickle, and each
    is written atomically.

    Args:
        path: An existing run directory.

    Raises:
        RunError: If the folder is not a run directory.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        if not (self.path / CONFIG).is_file():
            raise RunError(f"{self.path} is not a run directory: it has no {CONFIG}")
        self._signature = file_signature(self.path / CONFIG)

    @property
    def is_replaced(self) -> bool:
        """Whether another run is in the folder now than when this object was created."""
        return file_signature(self.path / CONFIG) != self._signature

    def __repr__(self) -> str:
        state = f", {self.state}" if self.state else ""
        return f"<Run: {self.config.model_name}, {self.path}{state}>"

    @classmethod
    def create(cls, path: Path | str, config: Config, dataset: Dataset, *, overwrite: bool = False) -> "Run":
        """Create a run directory.

        Args:
            path: The folder to create.
            config: The configuration of the run.
            dataset: The dataset, of which the run keeps a copy.
            overwrite: Replace an existing run.

        Returns:
            The run, not yet trained.

        Raises:
            TiterError: If the folder holds anything that may not be overwritten.
        """
        path = Path(path)
        check_can_create(path, overwrite=overwrite)
        # In one step, so that a process that is killed leaves the old run or the new one.
        with atomic_directory(path, overwrite=True) as folder:
            save_dataset(dataset, folder / DATASET)
            write_sealed_text(folder / CONFIG, to_toml(config.to_dict()))
            if (path / STAGED).exists():
                (folder / STAGED).touch()
        return cls(path)

    @cached_property
    def config(self) -> Config:
        """The configuration of the run."""
        try:
            check_sealed_text(self.path / CONFIG)
        except ValueError as error:
            raise RunError(f"{self.path / CONFIG} is damaged: {error}") from error
        return Config.from_dict(read_toml(self.path / CONFIG))

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset the model was trained on."""
        return open_dataset(self.path / DATASET)

    @property
    def store_path(self) -> Path:
        """The default database file for facts added to the run."""
        return self.path / STORE

    def load_model(self, device: str = "auto", changes: list[str] | None = None) -> Model:
        """Load the trained model.

        Args:
            device: ``cpu``, ``cuda``, ``cuda:1`` and so on; ``auto`` uses a GPU if there is one.
            changes: Settings to change, each ``model.KEY=VALUE``; only those that the training does not depend on.

        Returns:
            The model in evaluation mode, with its temperature.

        Raises:
            ConfigError: If the device is not available, or a setting cannot be changed after training.
            RunError: If there are no weights yet, or the file is damaged.
        """
        config = with_evaluation_settings(self.config, changes or [])
        path = self.path / MODEL
        if not path.is_file():
            raise RunError(f"{self.path} has no {MODEL} yet: training has not reached its first checkpoint")
        model = build_model(config, self.dataset)
        load_weights(model, path, mapped=True)
        if self.is_finished:
            model.temperature = self.summary.get("temperature", 1.0)
        model = model.to(choose_device(device)).eval()
        if model.device.type == "cpu":
            use_threads(self.dataset.vocabulary.num_entities)
        return model

    @property
    def log_rows(self) -> list[dict[str, Any]]:
        """The training log: one row for each epoch."""
        path = self.path / LOG
        if not path.is_file():
            return []
        try:
            if self.is_finished and self.summary.get("log_sha256", "") not in ("", sha256_of(path)):
                raise ValueError("its checksum does not match")
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if not all(isinstance(row, dict) for row in rows):
                raise ValueError("a line is not a JSON object")
            return rows
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path} is damaged: {error}") from error

    def finish(self, summary: dict[str, Any]) -> None:
        """Mark the training as finished.

        Args:
            summary: What ``summary`` returns afterwards.
        """
        log = {"log_sha256": sha256_of(self.path / LOG)} if (self.path / LOG).is_file() else {}
        write_sealed_json(self.path / SUMMARY, {**summary, **log})

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of a finished training: at least ``seconds``, its duration since it last started."""
        path = self.path / SUMMARY
        try:
            found = read_sealed_json(path)
            if not math.isfinite(found["seconds"]) or not 0 < found.get("temperature", 1.0) < math.inf:
                raise ValueError("a number is out of range")
            return found
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged: {error}") from error

    @property
    def is_finished(self) -> bool:
        """Whether the training is finished."""
        return (self.path / SUMMARY).is_file()

    @property
    def state(self) -> str:
        """What is unusual about the training, in words; empty for a finished one that was validated."""
        if not self.is_finished:
            epochs = [row["epoch"] for row in self.log_rows if "epoch" in row]
            done = f"epoch {epochs[-1]} of {self.config.training.epochs}" if epochs else "no epoch is complete"
            return f"training is not finished ({done})"
        if found := self.summary.get("refit_of"):
            return f"trained on all facts, with what validation chose for {found['run']}"
        return ""

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """All recorded evaluations, latest last."""
        path = self.path / METRICS
        if not path.is_file():
            return []
        try:
            found = read_sealed_json(path)["evaluations"]
            if any({"model", "dataset", "split", "queries", "protocol", "metrics"} - set(one) for one in found):
                raise KeyError("an evaluation is incomplete")
            return found
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged: {error}") from error

    def record(
        self, evaluation: Evaluation, changes: list[str] | None = None, baseline: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Write an evaluation to ``metrics.json``; it replaces an earlier one of the same split, protocol and changes.

        The ranks of its queries are kept in a file of their own, with which ``titer compare`` compares runs query by
        query.

        Args:
            evaluation: An evaluation of this run's model.
            changes: The settings that were changed for it, as for ``load_model``.
            baseline: What the baseline reaches on the same queries, if that was measured.

        Returns:
            The record as it was written.
        """
        changes = changes or []
        config = with_evaluation_settings(self.config, changes)
        changed = {"changed": changed_settings(changes)} if changes else {}
        beside = {"baseline": baseline} if baseline is not None else {}
        new = {**evaluation.to_dict(), **changed, **beside, "config": config.to_dict(), "titer": __version__}
        save_ranks(self.ranks_path(new), evaluation.ranks_under())
        same = ("split", "protocol", "changed")
        kept = [old for old in self.evaluations if any(old.get(key) != new.get(key) for key in same)]
        write_sealed_json(self.path / METRICS, {"evaluations": [*kept, new]})
        self.write_card()
        return new

    def ranks_path(self, record: dict[str, Any]) -> Path:
        """Return the file with the ranks of a recorded evaluation.

        Args:
            record: An entry of ``evaluations``.
        """
        return rank_file(self.path, **{key: record.get(key) for key in ("split", "protocol", "changed")})

    def write_card(self) -> None:
        """Write the card of the run, ``README.md``."""
        write_text(self.path / CARD, card(self.path.resolve().name, self.config, self.dataset, self.evaluations))
