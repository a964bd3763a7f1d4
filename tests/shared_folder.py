"""What all processes of one test session share: they take from a folder what one of them has made there."""

import fcntl
import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "TESTS_SHARED"
"""Environment variable with the folder; processes that are started inherit it."""


@contextmanager
def shared() -> Generator[None]:
    """Create the folder for the duration of a block, unless the process that started this one has."""
    if VARIABLE in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="titer-tests-") as folder:
        os.environ[VARIABLE] = folder
        yield
        del os.environ[VARIABLE]


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the path of a shared file or folder, which the first process that needs it makes.

    Args:
        name: Its name in the shared folder.
        make: Makes it at the path it is given.
    """
    folder = Path(os.environ[VARIABLE])
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / name).exists():
            make(folder / f"{name}.unfinished")
            (folder / f"{name}.unfinished").rename(folder / name)
    return folder / name
