"""Locks name their process, and end with it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from titer.files import locked
from titer.files.locks import LockedError

HOLD = """
import sys
from pathlib import Path
from titer.files import locked
with locked(Path(sys.argv[1]), Path("thing")):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(lock: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_with_the_name_of_the_first(tmp_path: Path):
    lock = tmp_path / ".thing.lock"
    with holder(lock) as process:
        with (
            pytest.raises(LockedError, match=f"thing is being written by process {process.pid} on "),
            locked(lock, Path("thing")),
        ):
            pass
        process.kill()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    lock = tmp_path / ".thing.lock"
    with holder(lock) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert lock.exists()
    with locked(lock, Path("thing")):
        assert lock.exists()
    assert not lock.exists()


def test_a_thread_of_the_same_process_is_refused_too(tmp_path: Path):
    lock = tmp_path / ".thing.lock"
    with locked(lock, Path("thing")):
        second = locked(lock, Path("thing"))
        with pytest.raises(LockedError, match=f"process {os.getpid()} "):
            second.__enter__()
    with locked(lock, Path("thing")):
        pass
