"""Folders whose entries are on disk."""

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Wait until a file or the entries of a folder are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Create a folder and the missing ones above it, so that a power failure cannot remove them again."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    flush(path.parent)
