"""Atomic writes: a reader sees either the old content or the new, never a part of it."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from titer.errors import TiterError


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def atomic_path(target: Path) -> Generator[Path]:
    """Yield a temporary path that replaces ``target`` when the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
        _flush(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(target: Path, *, overwrite: bool = False) -> Generator[Path]:
    """Yield a temporary folder that becomes ``target`` when the block ends without an error."""
    if target.exists() and not overwrite:
        raise TiterError(f"{target} already exists; choose another path or pass overwrite")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        yield temporary
        for path in temporary.rglob("*"):
            _flush(path)
        _flush(temporary)
        temporary.chmod(0o777 & ~_umask())
        _swap(temporary, target)
        _flush(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write readable JSON atomically."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _swap(new: Path, target: Path) -> None:
    """Replace ``target`` by ``new``. A folder cannot replace one with files, so the old one is moved away first."""
    if not target.exists():
        new.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent))
    target.rename(old / target.name)
    new.rename(target)
    shutil.rmtree(old)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
