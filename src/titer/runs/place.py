"""Where a training writes: one process at a time, and an old run stays until the new one is complete."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from titer.errors import TiterError
from titer.files import locked, remove_leftovers
from titer.files.exchange import replace_folder
from titer.files.folders import make_folder
from titer.runs.overwriting import STAGED, check_can_create
from titer.store.inspection import holds_facts, without_writers
from titer.training.layout import CONFIG, STORE


def place_to_resume(out: Path) -> Path:
    """Return the folder of the training that ``resume`` would continue: one that was to replace a run comes first.

    Args:
        out: The run directory.
    """
    staged = _staged(out.resolve())
    return staged if (staged / STAGED).exists() and (staged / CONFIG).exists() else out


def _staged(out: Path) -> Path:
    """Return where a run is trained that is to replace another."""
    return out.with_name(f".{out.name}.new") / out.name


@contextmanager
def training_place(out: Path, *, overwrite: bool, resume: bool) -> Generator[Path]:
    """Lock a run directory and yield the folder to train in; when the block ends, the new run is in its place.

    A run that is overwritten is trained in a hidden folder beside the old one, which it replaces at the end. If the
    training is interrupted, the old run is still there, and ``resume`` continues the new one.

    Args:
        out: The run directory.
        overwrite: Whether an existing run is to be replaced.
        resume: Whether an interrupted training is to be continued.

    Raises:
        LockedError: If another process is training there.
        TiterError: If facts were added to the old run during the training.
    """
    out = out.resolve()
    staged = _staged(out)
    hidden = staged.parent
    with locked(out.with_name(f".{out.name}.lock"), out):
        remove_leftovers(out.parent, out.name)
        remove_leftovers(out)
        remove_leftovers(staged)
        if not resume or not (staged / STAGED).exists():
            # A folder without the mark is an old run that was replaced.
            shutil.rmtree(hidden, ignore_errors=True)
        replaces = staged.exists() or (overwrite and (out / CONFIG).exists())
        if replaces:
            check_can_create(out, overwrite=True)
            make_folder(staged)
            (staged / STAGED).touch()
        try:
            yield staged if replaces else out
        finally:
            if not (staged / CONFIG).exists():
                shutil.rmtree(hidden, ignore_errors=True)
        if replaces:
            # A service may have the store open: what it adds after the check is written to a folder that is gone, and
            # the service reports it as an error.
            with without_writers(out / STORE):
                if holds_facts(out / STORE):
                    raise TiterError(
                        f"facts were added to {out} during the training, and are never overwritten; "
                        f"the new run is {staged}: move it to another folder"
                    )
                replace_folder(staged, out)
            shutil.rmtree(hidden, ignore_errors=True)
        (out / STAGED).unlink(missing_ok=True)
