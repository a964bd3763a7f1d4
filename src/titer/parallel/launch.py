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
from typing import IO

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
        files = (Path(folder) / f"{number}.txt" for number in range(num_workers))
        messages: list[IO[str]] = [file.open("w+", encoding="utf-8") for file in files]
        processes: list[subprocess.Popen[bytes]] = []
        old = signal.signal(signal.SIGTERM, _interrupt)
        try:
            for number in range(num_workers):
                out, errors = (subprocess.DEVNULL, messages[number]) if number else (None, None)
                environment = _environment(number, num_workers, folder)
                processes.append(subprocess.Popen(command, env=environment, stdout=out, stderr=errors))
            failed = _wait(processes)
        except KeyboardInterrupt:
            # The processes were interrupted too, and the first says how to continue.
            return INTERRUPTED
        finally:
            _stop(processes)
            signal.signal(signal.SIGTERM, old)
        if failed is not None:
            _explain(failed, processes[failed].returncode, messages)
        for message in messages:
            message.close()
    status = 0 if failed is None else processes[failed].returncode
    return 128 - status if status < 0 else status


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _environment(number: int, num_workers: int, folder: str) -> dict[str, str]:
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
        RENDEZVOUS: (Path(folder) / "rendezvous").as_uri(),
    }


def _wait(processes: list[subprocess.Popen[bytes]]) -> int | None:
    """Wait until all processes have ended, or one has failed; return the one that failed first, if any."""
    while True:
        statuses = [process.poll() for process in processes]
        # A killed process makes the others fail within the same interval: it is the cause.
        for failed in (*(s is not None and s < 0 for s in statuses),), (*(bool(s) for s in statuses),):
            if any(failed):
                return failed.index(True)
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


def _explain(failed: int, status: int, messages: list[IO[str]]) -> None:
    """Print the messages of a failed process, and how it ended. The first has printed its messages already."""
    if failed == 0 and status > 0:
        return
    messages[failed].seek(0)
    sys.stderr.write(messages[failed].read())
    how = f"was killed ({signal.Signals(-status).name})" if status < 0 else f"ended with status {status}"
    print(
        f"error: process {failed} of {len(messages)} {how}, so all have stopped. "
        "A training continues from its last checkpoint with --resume",
        file=sys.stderr,
    )
