"""The check that protects everything but runs from being overwritten."""

from pathlib import Path

from titer.data.dataset_folder import is_stored_dataset
from titer.errors import ConfigError, TiterError
from titer.files import is_leftover
from titer.store.inspection import holds_facts
from titer.training.layout import (
    CARD,
    CONFIG,
    CURVES,
    DATASET,
    EVENT_CHECKS,
    EVENT_METRICS,
    EVENTS,
    LOG,
    METRICS,
    MODEL,
    OLD_PICTURE,
    PICTURE,
    RANKS,
    STORE,
    SUMMARY,
    TRACKING,
)
from titer.training.settings import read_toml

STAGED = ".staged"
"""The mark of a new run that is to replace an old one, see ``training_place``."""


def _is_run(path: Path) -> bool:
    """Return whether a folder holds a run and nothing else."""
    known = {CONFIG, MODEL, METRICS, LOG, SUMMARY, CARD, DATASET, EVENTS, EVENT_METRICS, EVENT_CHECKS}
    known |= {CURVES, PICTURE, OLD_PICTURE, TRACKING}
    names = {entry.name for entry in _content(path) if not entry.name.startswith(("checkpoint-", f"{RANKS}-", STORE))}
    if not names <= known or not (path / CONFIG).is_file():
        return False
    try:
        tables = read_toml(path / CONFIG)
    except ConfigError as error:
        raise TiterError(
            f"{path} contains files that do not belong to a run; choose another folder ({error})"
        ) from None
    return {"model", "training"} <= set(tables) and (is_stored_dataset(path / DATASET) or DATASET not in names)


def _content(path: Path) -> list[Path]:
    """Return what is in a folder, without the temporary files of processes that were killed."""
    return [entry for entry in path.iterdir() if not is_leftover(entry) and entry.name != STAGED]


def check_can_create(path: Path, *, overwrite: bool = False) -> None:
    """Check that a run may be created in a folder.

    Args:
        path: The folder, which need not exist.
        overwrite: Whether an existing run may be replaced.

    Raises:
        TiterError: If the folder holds anything but a run, added facts, or a run that may not be replaced.
    """
    if path.is_file():
        raise TiterError(f"{path} is a file, not a folder; choose another folder")
    if holds_facts(path / STORE):
        raise TiterError(
            f"{path} holds facts that were added to it ({STORE}), which are never overwritten; choose another folder"
        )
    if path.is_dir() and _content(path):
        if not _is_run(path):
            raise TiterError(f"{path} contains files that do not belong to a run; choose another folder")
        if not overwrite:
            raise TiterError(f"{path} already holds a run; choose another folder, or pass overwrite or resume")
