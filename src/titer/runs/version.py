"""Which version of a run a folder holds: a run directory can be replaced by a new training at any time."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from titer.errors import RunError
from titer.files import sha256_of
from titer.training.layout import CONFIG, MODEL, SUMMARY

FILES = (CONFIG, MODEL, SUMMARY)
"""The files that make a version. The summary has the duration of the training, so equal trainings differ."""
Signature = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True)
class RunVersion:
    """The version of a run.

    Attributes:
        name: Twelve hexadecimal digits that depend on the settings, the weights and the training.
        trained: When the weights were written, in UTC, as ``2026-01-31T12:00:00Z``.
        signature: Changes when a file of the run is replaced.
    """

    name: str
    trained: str
    signature: Signature

    @classmethod
    def of(cls, folder: Path) -> "RunVersion":
        """Return the version that a run directory holds now.

        Raises:
            RunError: If the folder has no weights.
        """
        signature, digest = signature_of(folder), hashlib.sha256()
        try:
            for name in FILES:
                if (path := folder / name).is_file():
                    digest.update(f"{name} {sha256_of(path)}\n".encode())
            written = datetime.fromtimestamp((folder / MODEL).stat().st_mtime, UTC)
        except OSError as error:
            raise RunError(f"{folder} is not a run with weights: {error}") from error
        return cls(digest.hexdigest()[:12], f"{written:%Y-%m-%dT%H:%M:%SZ}", signature)


def signature_of(folder: Path) -> Signature:
    """Return what distinguishes the files of a version from later ones, without reading them."""
    return tuple(file_signature(folder / name) for name in FILES)


def file_signature(path: Path) -> tuple[int, int, int] | None:
    """Return inode, time and size of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
