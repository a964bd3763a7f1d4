"""Run one command as several processes on this machine.

The processes get the variables that torchrun sets. If one of them ends early, the others are stopped: they would wait
for it, or have stopped themselves with an error.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from titer.parallel.environment import RENDEZVOUS

GRACE_SECONDS = 10.0
"""Time in which processes can stop by themselves, or write what they have, before they are killed."""
POLL_SECONDS = 0.1
INTERRUPTED = 128 + signal.SIGINT
"""Exit status of a command that Ctrl-C ended, as shells define it."""


def launch(num_workers: int, words: Sequence[str] | None = None) -> int:
    """Run a command of titer in several processes, and wait for them.

    Args:
        num_workers: The number of processes. Only the first prints and writes files; the error messages of the others
            are shown if they cause a failure.
        words: The words of the command; by default those of this process.

    Returns:
        0, the exit status of a process that failed, which is printed, or 130 after Ctrl-C.
    """
    command = [sys.executable, "-m", "titer", *(sys.argv[1:] if words is None else words)]
    with tempfile.TemporaryDirectory(prefix="titer-workers-") as folder:
        processes: list[subprocess.Popen[bytes]] = []
        old = signal.signal(signal.SIGTERM, _interrupt)
        try:
            for number in range(num_workers):
                processes.append(_start(command, number, num_workers, Path(folder)))
            failed = _wait(processes)
        except KeyboardInterrupt:
            # The processes were interrupted too, and the first prints how to continue.
            return INTERRUPTED
        finally:
            _stop(processes)
            signal.signal(signal.SIGTERM, old)
        if failed is not None:
            _explain(failed, processes[failed].returncode, num_workers, Path(folder))
    status = 0 if failed is None else processes[failed].returncode
    return 128 - status if status < 0 else status


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _start(command: list[str], number: int, num_workers: int, folder: Path) -> subprocess.Popen[bytes]:
    """Start one process. What others than the first print goes to a file."""
    environment = _environment(number, num_workers, folder)
    if number == 0:
        return subprocess.Popen(command, env=environment)
    with _messages(folder, number).open("w") as file:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=file)


def _messages(folder: Path, number: int) -> Path:
    return folder / f"{number}.txt"


def _environment(number: int, num_workers: int, folder: Path) -> dict[str, str]:
    """Return the variables of one process; its share of the cores, unless the caller has decided that."""
    threads = max((os.cpu_count() or 1) // num_workers, 1)
    given = {"OMP_NUM_THREADS": str(threads), **os.environ}
    if sys.platform == "linux":
        # Nothing outside of this machine takes part, so nothing outside can connect.
        given.setdefault("GLOO_SOCKET_IFNAME", "lo")
    return {
        **given,
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": str(num_workers),
        "LOCAL_WORLD_SIZE": str(num_workers),
        # A file needs no free port.
        RENDEZVOUS: (folder / "rendezvous").as_uri(),
    }


def _wait(processes: list[subprocess.Popen[bytes]]) -> int | None:
    """Wait until all processes have ended, or one has failed; return the one that failed first, if any."""
    while True:
        statuses = [process.poll() for process in processes]
        killed = [number for number, status in enumerate(statuses) if status is not None and status < 0]
        failed = [number for number, status in enumerate(statuses) if status]
        if failed:
            # A killed process makes the others fail at once: it is the cause.
            return (killed or failed)[0]
        if all(status == 0 for status in statuses):
            return None
        time.sleep(POLL_SECONDS)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait a while for the processes that still run, and end them."""
    deadline = time.monotonic() + GRACE_SECONDS
    for end in (None, subprocess.Popen.terminate, subprocess.Popen.kill):
        running = [process for process in processes if process.poll() is None]
        for process in running:
            if end is not None:
                end(process)
            try:
                process.wait(max(deadline - time.monotonic(), POLL_SECONDS))
            except subprocess.TimeoutExpired:
                continue
        deadline = time.monotonic() + GRACE_SECONDS


def _explain(failed: int, status: int, num_workers: int, folder: Path) -> None:
    """Print the messages of a failed process, and how it ended. The first has printed its messages already."""
    if failed == 0 and status > 0:
        return
    if failed:
        sys.stderr.write(_messages(folder, failed).read_text(encoding="utf-8", errors="replace"))
    how = f"was killed ({signal.Signals(-status).name})" if status < 0 else f"ended with status {status}"
    print(
        f"error: process {failed} of {num_workers} {how}, so all have stopped. "
        "A training continues from its last checkpoint with --resume",
        file=sys.stderr,
    )
