"""What may be overwritten: a run, and nothing else."""

from pathlib import Path

from titer.data.dataset_folder import is_stored_dataset
from titer.errors import TiterError
from titer.store.inspection import holds_facts
from titer.training.config import read_toml
from titer.training.layout import CARD, CONFIG, CURVES, DATASET, LOG, METRICS, MODEL, PICTURE, STORE, SUMMARY


def _is_run(path: Path) -> bool:
    """Whether a folder holds a run and nothing else, so that it may be overwritten."""
    known = {CONFIG, MODEL, METRICS, LOG, SUMMARY, CARD, DATASET, CURVES, PICTURE}
    names = {entry.name for entry in path.iterdir() if not entry.name.startswith(("checkpoint-", STORE))}
    if not names <= known or not (path / CONFIG).is_file():
        return False
    tables = read_toml(path / CONFIG)
    return {"model", "training"} <= set(tables) and (is_stored_dataset(path / DATASET) or DATASET not in names)


def check_can_create(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a place that holds something that may not be overwritten."""
    if path.is_file():
        raise TiterError(f"{path} is a file")
    if holds_facts(path / STORE):
        raise TiterError(
            f"{path} holds facts that were added to it ({STORE}), which nothing overwrites; choose another place"
        )
    if path.is_dir() and any(path.iterdir()):
        if not _is_run(path):
            raise TiterError(f"{path} is not empty and holds other things than a run; choose another place")
        if not overwrite:
            raise TiterError(f"{path} already holds a run; choose another place, or pass --overwrite or --resume")
