"""The run directory: the one thing that commands pass around."""

import json
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

from titer import __version__
from titer.data.dataset import Dataset
from titer.data.dataset_folder import open_dataset, save_dataset
from titer.errors import RunError
from titer.evaluation.evaluate import Evaluation
from titer.files import write_json, write_text
from titer.models.base import Model
from titer.models.registry import model_class
from titer.runs.card import card
from titer.runs.overwriting import check_can_create
from titer.toml import to_toml
from titer.training.config import Config, read_toml
from titer.training.device import choose_device
from titer.training.layout import CARD, CONFIG, CURVES, DATASET, LOG, METRICS, MODEL, PICTURE, STORE, SUMMARY
from titer.training.weights import load_weights, save_weights


class Run:
    """A folder with a trained model and all that is needed to use it elsewhere.

    ``config.toml``, ``model.safetensors``, ``dataset/`` (the facts it knows, their names and dates),
    ``metrics.json``, ``training.jsonl`` and a card, ``README.md``; ``facts.db`` once facts were added. No pickle; each
    file is written atomically.
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        if not (self.path / CONFIG).is_file():
            raise RunError(f"{self.path} is not a run directory: it has no {CONFIG}")

    def __repr__(self) -> str:
        state = "" if self.is_finished else ", training not finished"
        return f"<Run: {self.config.model_name}, {self.path}{state}>"

    @classmethod
    def create(cls, path: Path | str, config: Config, dataset: Dataset, *, overwrite: bool = False) -> "Run":
        """Begin a run; an existing one is kept unless it may be overwritten."""
        path = Path(path)
        check_can_create(path, overwrite=overwrite)
        path.mkdir(parents=True, exist_ok=True)
        parts = (path / name for name in (MODEL, METRICS, LOG, CARD, SUMMARY, PICTURE))
        for old in (*parts, *path.glob("checkpoint-*"), *path.glob(f"{STORE}*")):
            old.unlink(missing_ok=True)
        shutil.rmtree(path / CURVES, ignore_errors=True)
        save_dataset(dataset, path / DATASET, overwrite=overwrite)
        write_text(path / CONFIG, to_toml(config.to_dict()))
        return cls(path)

    @cached_property
    def config(self) -> Config:
        """The settings of the run."""
        return Config.from_dict(read_toml(self.path / CONFIG))

    @cached_property
    def dataset(self) -> Dataset:
        """The facts that the run knows."""
        return open_dataset(self.path / DATASET)

    @property
    def store_path(self) -> Path:
        """Where facts that were added to the run are kept, unless another database is named."""
        return self.path / STORE

    def save_model(self, model: Model) -> None:
        """Store everything that the model keeps."""
        save_weights(model, self.path / MODEL)

    def load_model(self, device: str = "auto") -> Model:
        """The trained model."""
        config = self.config
        path = self.path / MODEL
        if not path.is_file():
            raise RunError(f"{self.path} has no {MODEL} yet: its training has not come so far")
        model = model_class(config.model_name)(self.dataset.vocabulary, self.dataset.axis, config.model)
        load_weights(model, path)
        if self.is_finished:
            model.temperature = self.summary.get("temperature", 1.0)
        return model.to(choose_device(device)).eval()

    @property
    def log_rows(self) -> list[dict[str, Any]]:
        """The training log, a row for every epoch."""
        path = self.path / LOG
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []

    def finish(self, summary: dict[str, Any]) -> None:
        """Note that training has come to its end."""
        write_json(self.path / SUMMARY, summary)

    @property
    def summary(self) -> dict[str, Any]:
        """What a finished training noted about itself: at least ``seconds``, how long it took since it last began."""
        return json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))

    @property
    def is_finished(self) -> bool:
        """Whether training has come to its end."""
        return (self.path / SUMMARY).is_file()

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """Everything that was measured, the latest last."""
        path = self.path / METRICS
        if not path.is_file():
            return []
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
            if any({"model", "dataset", "split", "queries", "protocol", "metrics"} - set(one) for one in found):
                raise KeyError("an evaluation is not whole")
            return found
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged: {error}") from error

    def record(self, evaluation: Evaluation) -> dict[str, Any]:
        """Keep a measurement in ``metrics.json`` in the place of an earlier one of the same kind, and return it."""
        new = {**evaluation.to_dict(), "config": self.config.to_dict(), "titer": __version__}
        same = ("split", "protocol")
        kept = [old for old in self.evaluations if any(old[key] != new[key] for key in same)]
        write_json(self.path / METRICS, {"evaluations": [*kept, new]})
        self.write_card()
        return new

    def write_card(self) -> None:
        """Write the short description of the run for people."""
        write_text(self.path / CARD, card(self.path.resolve().name, self.config, self.dataset, self.evaluations))
