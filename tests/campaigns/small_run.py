"""A small run for campaigns, trained in seconds."""

import contextlib
import io
from pathlib import Path
from typing import Any

TRAINING = {"epochs": 1, "batch_size": 1024, "device": "cpu"}
MODELS: dict[str, dict[str, Any]] = {
    "recurrency": {},
    "path_mixture": {"dim": 4, "relation_dim": 4, "hidden_dim": 4, "first_edges": 4, "second_edges": 4},
}


def make_small_run(folder: Path, model: str = "path_mixture") -> Path:
    """Train a small model on the small world, with an event model, and return the folder of its run."""
    from quick_events import store_quick_events
    from shared_folder import shared
    from titer.data.small_world import small_world
    from titer.runs.train import train
    from titer.training.config import Config

    table = {"model": MODELS[model], "training": TRAINING if MODELS[model] else {"device": "cpu"}}
    with contextlib.redirect_stderr(io.StringIO()), shared():
        run = train(small_world().dataset, Config.from_dict(table, model), folder / "run")
        store_quick_events(run.path)
    return run.path
