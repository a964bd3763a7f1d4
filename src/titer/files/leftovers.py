"""Temporary files of writers that were killed."""

import os
import re
import shutil
from pathlib import Path

from titer.files.locks import is_same, try_lock

PART, OLD = ".part", ".old"
_NAME = re.compile(r"\.(?P<target>.+)\.[a-z0-9_]{8}\.(part|old)")


def is_leftover(path: Path) -> bool:
    """Return whether a file or folder has the name of a temporary one of an atomic write, finished or not."""
    return _NAME.fullmatch(path.name) is not None


def remove_leftovers(folder: Path, target: str | None = None) -> None:
    """Remove temporary files and folders whose writers have ended. A writer keeps its own locked.

    Args:
        folder: Where to look.
        target: Only those of the file with this name; None for all.
    """
    try:
        found = [Path(entry.path) for entry in os.scandir(folder)]
    except OSError:  # it does not exist or cannot be read
        return
    for path in found:
        name = _NAME.fullmatch(path.name)
        if name is not None and target in (None, name["target"]):
            _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if not try_lock(descriptor) or not is_same(descriptor, path):
            return
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
