"""Locks that end with the process that holds them, however it ends."""

import json
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from titer.errors import TiterError
from titer.files.folders import make_folder

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, writers are not kept apart
    fcntl = None


class LockedError(TiterError):
    """Another process is writing here."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; return whether no other process holds it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_same(descriptor: int, path: Path) -> bool:
    """Return whether a path still leads to an open file or folder."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


@contextmanager
def locked(lock: Path, what: Path) -> Generator[None]:
    """Hold a lock file while the block runs, and remove it afterwards.

    The system releases the lock when the process ends, so the file that a killed process leaves behind locks nothing.

    Args:
        lock: The lock file. Its folder is created if it does not exist.
        what: What is locked, for the error message.

    Raises:
        LockedError: If another process holds the lock; the message names it.
    """
    make_folder(lock.parent)
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not try_lock(descriptor):
                raise LockedError(f"{what} is being written by {_owner(lock)}; wait until it has finished, or stop it")
            if not is_same(descriptor, lock):  # its owner removed it between the two calls
                continue
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_this_process()).encode())
            try:
                yield
            finally:
                if is_same(descriptor, lock):
                    with suppress(OSError):
                        lock.unlink()
            return
        finally:
            os.close(descriptor)


def _this_process() -> dict[str, str | int]:
    # Only the name of the command, since options may contain secrets.
    command = " ".join([Path(sys.argv[0]).stem.replace("__main__", "titer"), *sys.argv[1:2]])
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": since}


def _owner(lock: Path) -> str:
    try:
        owner = json.loads(lock.read_text(encoding="utf-8"))
        return f"process {owner['pid']} on {owner['host']} ({owner['command']}, since {owner['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
