"""Processes that add batches of facts and report each one, until they are killed.

Run as a program, it starts a writer for every line of its input, ``ADDRESS NAME BATCHES``. All modules are imported
before, so a writer starts quickly. The program prints ``started PID``, the writer ``stored NUMBER`` after every batch,
and the program ``ended`` when the writer has ended.
"""

import gc
import os
import sys
from importlib import import_module
from typing import NoReturn

from store.samples import dataset
from titer.store.facts import FactStore, NamedFact

BATCH = 7


def batch(writer: str, number: int) -> list[NamedFact]:
    """Return facts that no other writer adds."""
    return [NamedFact(writer, "visit", f"{writer} {number} {i}", 10) for i in range(BATCH)]


def say(line: str) -> None:
    """Print a line in one write, without a buffer."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def write(address: str, writer: str, num_batches: int) -> NoReturn:
    """Add batches, and print the number of each when it is stored."""
    with FactStore(address, dataset()) as store:
        for number in range(num_batches):
            store.add(batch(writer, number))
            say(f"stored {number}")
    os._exit(0)


def main() -> None:
    """Start a writer for every line, and wait for its end."""
    for name in ("postgresql.psycopg", "sqlite"):
        import_module(f"sqlalchemy.dialects.{name}")  # before the first writer starts, not in each
    gc.freeze()  # what the garbage collector does not visit is not copied by writers

    for line in sys.stdin:
        address, writer, num_batches = line.split()
        if pid := os.fork():
            say(f"started {pid}")
            os.waitpid(pid, 0)
            say("ended")
        else:
            write(address, writer, int(num_batches))


if __name__ == "__main__":
    main()
