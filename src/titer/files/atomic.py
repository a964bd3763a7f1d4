"""Atomic writes: a reader sees either the old content or the new, never a part of it."""

import json
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from titer.errors import TiterError
from titer.files.exchange import replace_folder, restore_folder
from titer.files.folders import flush, make_folder
from titer.files.leftovers import PART, remove_leftovers
from titer.files.locks import is_same, try_lock


@contextmanager
def atomic_path(target: Path) -> Generator[Path]:
    """Yield a temporary path that replaces ``target`` when the block ends without an error.

    Raises:
        OSError: If the file cannot be written; the error names ``target``.
    """
    with _naming(target), _temporary(target, folder=False) as temporary:
        yield temporary
        flush(temporary)
        temporary.chmod(file_mode())
        temporary.replace(target)
        flush(target.parent)


@contextmanager
def atomic_directory(target: Path, *, overwrite: bool = False) -> Generator[Path]:
    """Yield a temporary folder that becomes ``target`` when the block ends without an error.

    Raises:
        TiterError: If ``target`` exists and ``overwrite`` is not set.
        OSError: If a file cannot be written; the error names ``target``.
    """
    restore_folder(target)
    if target.exists() and not overwrite:
        raise TiterError(f"{target} already exists; choose another path or pass overwrite")
    with _naming(target), _temporary(target, folder=True) as temporary:
        yield temporary
        for path in temporary.rglob("*"):
            flush(path)
        flush(temporary)
        temporary.chmod(0o777 & ~_umask())
        replace_folder(temporary, target)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def _temporary(target: Path, *, folder: bool) -> Generator[Path]:
    """Yield a temporary file or folder beside the target, locked so that other processes know it is in use."""
    make_folder(target.parent)
    remove_leftovers(target.parent, target.name)
    prefix = f".{target.name}."
    while True:
        if folder:
            temporary = Path(tempfile.mkdtemp(PART, prefix, target.parent))
            descriptor = os.open(temporary, os.O_RDONLY)
        else:
            descriptor, name = tempfile.mkstemp(PART, prefix, target.parent)
            temporary = Path(name)
        if try_lock(descriptor) and is_same(descriptor, temporary):
            break
        os.close(descriptor)  # another process took it for a leftover before it was locked
    try:
        yield temporary
    finally:
        if folder:
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        os.close(descriptor)


@contextmanager
def _naming(target: Path) -> Generator[None]:
    """Make errors of the file system, such as a full disk, name the file that was to be written."""
    try:
        yield
    except OSError as error:
        name = str(error.filename) if error.filename is not None else ""
        if name and f".{target.name}." not in name:
            raise
        raise OSError(error.errno or 0, error.strerror or str(error), str(target)) from error


def file_mode() -> int:
    """Return the permissions of a new file; temporary files are created with fewer."""
    return 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
