"""Columns in files: written once, checked and memory-mapped when opened."""

import hashlib
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from titer.files import atomic_directory, write_text
from titer.graph.parallel import in_order

FORMAT = 2
MANIFEST = "columns.json"
LOCK = ".lock"
PAGE = 512
"""Words of 8 bytes in a page of memory, which is what a system reads and writes."""
PAGES_AT_ONCE = 1024
"""Pages that a checksum adds up at a time, as many as fit into the cache of a processor."""
WEIGHTS = np.cumprod(np.full(PAGE, 0x9E3779B97F4A7C15, dtype=np.uint64))
"""Odd factors of the words in a page, modulo 2⁶⁴; with odd factors, every change of one word changes the sum."""
Append = Callable[[str, NDArray[Any]], None]
Stored = tuple[dict[str, NDArray[Any]], dict[str, Any]]


def open_columns(folder: Path, source: str) -> Stored | None:
    """Open a folder of columns.

    Args:
        folder: The folder.
        source: The checksum of the data that the columns must have been made from.

    Returns:
        The columns, memory-mapped so that changes are not written back, and the values stored with them. None if there
        is no such folder, or it was made from other data or by another version, or is damaged.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        seal = manifest.pop("seal")
        if seal != _seal(manifest) or (manifest["format"], manifest["source"]) != (FORMAT, source):
            return None
        columns = {name: _mapped(folder / f"{name}.bin", one) for name, one in manifest["columns"].items()}
        calls = [lambda name=name, column=column: checksum(column) == manifest["columns"][name]["checksum"]
                 for name, column in columns.items()]  # fmt: skip
        return (columns, manifest["values"]) if all(in_order(calls)) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_columns(folder: Path, source: str, make: Callable[[Append], dict[str, Any]]) -> None:
    """Write a folder of columns, completely or not at all; replace the one that is there.

    Args:
        folder: The folder to create.
        source: The checksum of the data that the columns are made from.
        make: Calls its argument with the name of a column and its next rows, as often as it likes, and returns values
            to store with the columns.

    Raises:
        OSError: The folder cannot be written.
    """
    with atomic_directory(folder, overwrite=True) as temporary:
        files: dict[str, IO[bytes]] = {}
        columns: dict[str, dict[str, Any]] = {}

        def append(name: str, rows: NDArray[Any]) -> None:
            if name not in files:
                files[name] = (temporary / f"{name}.bin").open("wb")
                columns[name] = {"dtype": rows.dtype.str, "shape": [0, *rows.shape[1:]]}
            columns[name]["shape"][0] += len(rows)
            files[name].write(np.ascontiguousarray(rows).data)

        try:
            values = make(append)
        finally:
            for file in files.values():
                file.close()
        for name, column in columns.items():
            column["checksum"] = checksum(_mapped(temporary / f"{name}.bin", column))
        manifest = {"format": FORMAT, "source": source, "values": values, "columns": columns}
        write_text(temporary / MANIFEST, json.dumps({"seal": _seal(manifest), **manifest}, indent=2) + "\n")


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """Hold the lock of a folder, where the system and the file system have locks; other processes wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("ab") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        except (ImportError, OSError):
            # Without locks, two processes may do the same work. The last one to finish replaces equal files.
            pass
        yield


def checksum(column: NDArray[Any]) -> str:
    """Return a checksum of the bytes of a column.

    It finds damage to files, not forgery: a cryptographic hash of a large index would take longer than everything else
    when a run is opened. Words of 64 bits are added up in two ways: with a factor for each position in the page, which
    gives a sum for every page, and over many pages, which gives a sum for every position. If two different words are
    swapped, sums of positions change, or those of their pages if they are at the same position.
    """
    data = column.reshape(-1).view(np.uint8)
    length = 8 * PAGE
    whole = len(data) // length * length
    pages = data[:whole].view(np.uint64).reshape(-1, PAGE)
    digest = hashlib.sha256(f"{len(data)} ".encode())
    for start in range(0, len(pages), PAGES_AT_ONCE):
        part = pages[start : start + PAGES_AT_ONCE]
        digest.update(np.einsum("pw,w->p", part, WEIGHTS).tobytes())
        digest.update(part.sum(axis=0).tobytes())
    digest.update(data[whole:].tobytes())
    return digest.hexdigest()


def _mapped(path: Path, column: dict[str, Any]) -> NDArray[Any]:
    """Map a file into memory; raise a ``ValueError`` if it does not have the right size."""
    dtype, shape = np.dtype(column["dtype"]), tuple(column["shape"])
    if path.stat().st_size != dtype.itemsize * int(np.prod(shape)):
        raise ValueError(f"{path} has the wrong size")
    # An empty file cannot be mapped.
    return np.memmap(path, dtype, mode="c", shape=shape) if shape[0] else np.empty(shape, dtype)


def _seal(manifest: dict[str, Any]) -> str:
    """Return the SHA-256 of a manifest, which is stored in it."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
