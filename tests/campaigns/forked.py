"""Run commands in forked processes, and kill them right before any operation on files."""

import ctypes
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.link", "os.truncate", "ctypes.dlsym"}
"""Audit events of operations that change a folder; the last is the look-up of the call that exchanges folders."""


class Operations:
    """Counts operations on files, and kills the process right before one of them."""

    def __init__(self, root: Path, kill_before: int | None):
        self.root, self.kill_before, self.count = str(root), kill_before, 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in CHANGES or (event == "open" and self._writes(*arguments)):
            self.count += 1
            if self.count == self.kill_before:
                os.kill(os.getpid(), signal.SIGKILL)

    def _writes(self, path: Any, mode: str | None, flags: int) -> bool:
        """Return whether a file is opened to be changed, or opened to be flushed to disk."""
        inside = isinstance(path, str) and path.startswith(self.root)
        return inside and (mode is None or bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))


def start(work: Callable[[], Any], output: Path) -> int:
    """Begin work in a forked process with its output in a file; return the id of the process."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # an interrupted campaign leaves no process
            tempfile.tempdir = str(output.parent)  # a killed process leaves its temporary files where they are removed
            descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            work()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001 - the parent reads it from the output
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return child


def wait(process: int) -> int:
    """Wait for a process that was started here; return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def in_fork(work: Callable[[], Any], output: Path) -> int:
    """Run work in a forked process with its output in a file; return its exit code, negative for a signal."""
    return wait(start(work, output))


def titer(*words: str | Path) -> Callable[[], None]:
    """Return the work of a command of titer."""

    def work() -> None:
        from titer.cli.main import main

        sys.argv = ["titer", *map(str, words)]
        main()

    return work


def command(*words: str | Path, root: Path, kill_before: int | None = None) -> tuple[int, str]:
    """Run a command of titer in a forked process, optionally killed; return its exit code and its output.

    Args:
        words: The command.
        root: The folder whose files count.
        kill_before: The number of the operation that is never carried out; None lets the command end.

    Returns:
        The exit code, and the output. That of a command that ends by itself ends with the number of its operations.
    """
    output = root.with_name(f"{root.name}.output")

    def work() -> None:
        run = titer(*words)
        operations = Operations(root, kill_before)
        sys.addaudithook(operations)
        try:
            run()
        finally:
            print(operations.count)

    code = in_fork(work, output)
    return code, output.read_text(encoding="utf-8", errors="replace")


def num_operations(*words: str | Path, root: Path) -> int:
    """Run a command that must succeed, and return how many operations on files it has."""
    code, said = command(*words, root=root)
    assert code == 0, said
    return int(said.split()[-1])
