"""The run directory on a node of a cluster: the shared one, or one copy for all workers of the node."""

import io
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray
from titer.data.download import cache_folder
from titer.errors import RunError, StoreError
from titer.files import atomic_directory, checksum
from titer.files.locks import try_lock
from titer.forecasting.jobs.fingerprint import facts_version, fingerprint
from titer.runs.run import Run
from titer.training.layout import CONFIG, DATASET, EVENTS, MODEL, STORE, SUMMARY

COPIES = "ray-runs"
_used: dict[int, int] = {}
"""Descriptors of the copies that this process uses, by inode. Each holds a lock until the process ends."""


@dataclass(frozen=True)
class NodeRun:
    """A run that the workers of all nodes can open.

    Attributes:
        path: Where the run is on the machine that started the job.
        checksums: What identifies its contents.
        events: Whether the event model belongs to it.
        facts: What identifies its added facts, as from ``facts_version``. None if the workers use another store.
        archive: The run directory in the object store, for nodes that do not have it. None if Ray runs on this machine
            only.
    """

    path: str
    checksums: dict[str, Any]
    events: bool
    facts: tuple[int, int, str] | None
    archive: "ray.ObjectRef[bytes] | None" = None

    def open(self) -> Run:
        """Return the run on this node; copy it from the object store first if the node does not have it.

        The workers of a node use the same files, so that they share the memory of what is mapped. A new copy replaces
        those with other added facts that no process uses any more.

        Raises:
            RunError: The node does not have the run, and it was not sent.
        """
        if self.archive is None:
            # On one machine, other facts than those of the job were added since it began, which the job reports.
            if self._is_run(Path(self.path)):
                return Run(self.path)
            raise RunError(f"{self.path} does not exist on this node, or is another run")
        if self._is_run(Path(self.path)) and self._has_facts(Path(self.path)):
            return Run(self.path)
        parent, name = cache_folder() / COPIES, checksum(self.checksums)[:32]
        folder = parent / f"{name}-{checksum(self.facts)[:32]}"
        parent.mkdir(parents=True, exist_ok=True)
        with _waiting_lock(parent / f"{name}.lock"):
            if not (self._is_run(folder) and self._has_facts(folder)):
                with atomic_directory(folder, overwrite=True) as temporary:
                    unpack(ray.get(self.archive), temporary)
                for other in parent.glob(f"{name}-*"):
                    if other != folder:
                        _remove_unused(other)
            _use(folder)
        return Run(folder)

    def _is_run(self, path: Path) -> bool:
        try:
            return fingerprint(Run(path), events=self.events) == self.checksums
        except (RunError, OSError):
            return False

    def _has_facts(self, path: Path) -> bool:
        run = Run(path)
        try:
            return self.facts is None or facts_version(run.store_path, run.dataset) == self.facts
        except (StoreError, OSError):
            return False


def pack(run: Run, *, facts: bool = True) -> bytes:
    """Return a run directory as an archive, with what forecasts need.

    Args:
        run: The run.
        facts: Whether its added facts are needed.
    """
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive, TemporaryDirectory(prefix="titer-") as temporary:
        for name in (CONFIG, MODEL, SUMMARY, EVENTS):
            if (run.path / name).is_file():
                archive.add(run.path / name, name)
        for file in sorted((run.path / DATASET).iterdir()):
            if file.is_file():  # stored indexes are made again, once on each node
                archive.add(file, f"{DATASET}/{file.name}")
        if facts and run.store_path.is_file():
            # A copy of a database that is in use must be made by the database.
            copy = Path(temporary) / STORE
            with closing(sqlite3.connect(run.store_path)) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
            archive.add(copy, STORE)
    return stream.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of an archive into a folder."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        opened.extractall(folder, filter="data")


@contextmanager
def _waiting_lock(path: Path) -> Generator[None]:
    """Hold a lock while the block runs; wait for it if another worker of the node holds it."""
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _use(folder: Path) -> None:
    """Keep other processes from removing a copy until this process ends."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    if _used.setdefault(os.fstat(descriptor).st_ino, descriptor) != descriptor:
        os.close(descriptor)  # locked already
        return
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def _remove_unused(folder: Path) -> None:
    """Remove a copy, unless a process uses it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if try_lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
