"""The run directory on a node of a cluster: the shared one, or one copy for all workers of the node."""

import io
import os
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
from titer.errors import RunError
from titer.files import atomic_directory, checksum
from titer.forecasting.jobs.fingerprint import fingerprint
from titer.runs.run import Run
from titer.training.layout import CONFIG, DATASET, EVENTS, MODEL, STORE, SUMMARY

COPIES = "ray-runs"


@dataclass(frozen=True)
class NodeRun:
    """A run that the workers of all nodes can open.

    Attributes:
        path: Where the run is on the machine that started the job.
        checksums: What identifies its contents.
        events: Whether the event model belongs to it.
        archive: The run directory in the object store, for nodes that do not have it. None if Ray runs on this machine
            only.
    """

    path: str
    checksums: dict[str, Any]
    events: bool
    archive: "ray.ObjectRef[bytes] | None" = None

    def open(self) -> Run:
        """Return the run on this node; copy it from the object store first if the node does not have it.

        The workers of a node use the same files, so that they share the memory of what is mapped.

        Raises:
            RunError: The node does not have the run, and it was not sent.
        """
        if self._is_run(Path(self.path)):
            return Run(self.path)
        if self.archive is None:
            raise RunError(f"{self.path} does not exist on this node, or is another run")
        folder = cache_folder() / COPIES / checksum(self.checksums)[:32]
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _waiting_lock(folder.with_suffix(".lock")):
            if not self._is_run(folder):
                with atomic_directory(folder, overwrite=True) as temporary:
                    unpack(ray.get(self.archive), temporary)
        return Run(folder)

    def _is_run(self, path: Path) -> bool:
        try:
            return fingerprint(Run(path), events=self.events) == self.checksums
        except (RunError, OSError):
            return False


def pack(run: Run) -> bytes:
    """Return a run directory as an archive, with what forecasts need."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive, TemporaryDirectory(prefix="titer-") as desk:
        for name in (CONFIG, MODEL, SUMMARY, EVENTS):
            if (run.path / name).is_file():
                archive.add(run.path / name, name)
        for file in sorted((run.path / DATASET).iterdir()):
            if file.is_file():  # stored indexes are made again, once on each node
                archive.add(file, f"{DATASET}/{file.name}")
        if run.store_path.is_file():
            # A copy of a database that is in use must be made by the database.
            copy = Path(desk) / STORE
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
