"""The run directory: the one thing that commands pass around."""

import json
import shutil
import sqlite3
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from titer import __version__
from titer.data.dataset import Dataset
from titer.data.store import is_stored_dataset, open_dataset, save_dataset
from titer.errors import RunError, TiterError
from titer.evaluation.evaluate import Evaluation
from titer.files import atomic_path, write_json, write_text
from titer.models.base import Model
from titer.models.registry import model_class
from titer.toml import to_toml
from titer.training.card import card
from titer.training.checkpoint import load_state
from titer.training.config import Config, read_toml
from titer.training.device import choose_device
from titer.training.layout import CARD, CONFIG, CURVES, DATASET, LOG, METRICS, MODEL, PICTURE, STORE, SUMMARY


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
        with atomic_path(self.path / MODEL) as temporary:
            state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
            save_file(state, temporary, metadata={"model": model.name, "titer": __version__})

    def load_model(self, device: str = "auto") -> Model:
        """The trained model."""
        config = self.config
        path = self.path / MODEL
        if not path.is_file():
            raise RunError(f"{self.path} has no {MODEL} yet: its training has not come so far")
        model = model_class(config.model_name)(self.dataset.vocabulary, self.dataset.axis, config.model)
        self.load_weights(model)
        if self.is_finished:
            model.temperature = self.summary.get("temperature", 1.0)
        return model.to(choose_device(device)).eval()

    def load_weights(self, model: Model) -> None:
        """Put the stored weights into a model of the same settings."""
        path = self.path / MODEL
        try:
            with safe_open(path, framework="pt") as file:
                load_state(model, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        except (SafetensorError, RuntimeError, OSError) as error:
            raise RunError(f"{path} is damaged or does not fit the configuration: {error}") from error

    def log(self, row: dict[str, Any]) -> None:
        """Add a row to the training log."""
        with (self.path / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

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


def _is_run(path: Path) -> bool:
    """Whether a folder holds a run and nothing else, so that it may be overwritten."""
    known = {CONFIG, MODEL, METRICS, LOG, SUMMARY, CARD, DATASET, CURVES, PICTURE}
    names = {entry.name for entry in path.iterdir() if not entry.name.startswith(("checkpoint-", STORE))}
    if not names <= known or not (path / CONFIG).is_file():
        return False
    tables = read_toml(path / CONFIG)
    return {"model", "training"} <= set(tables) and (is_stored_dataset(path / DATASET) or DATASET not in names)


def _has_added_facts(store: Path) -> bool:
    """Whether a database holds facts; one that was only opened, as by a service, holds none."""
    if not store.exists():
        return False
    try:
        with closing(sqlite3.connect(store)) as connection:
            return connection.execute("SELECT last_sequence FROM titer_store").fetchone() != (0,)
    except sqlite3.Error:
        return True  # nothing that cannot be read is thrown away


def check_can_create(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a place that holds something that may not be overwritten."""
    if path.is_file():
        raise TiterError(f"{path} is a file")
    if _has_added_facts(path / STORE):
        raise TiterError(
            f"{path} holds facts that were added to it ({STORE}), which nothing overwrites; choose another place"
        )
    if path.is_dir() and any(path.iterdir()):
        if not _is_run(path):
            raise TiterError(f"{path} is not empty and holds other things than a run; choose another place")
        if not overwrite:
            raise TiterError(f"{path} already holds a run; choose another place, or pass --overwrite or --resume")
