"""Processes that add batch after batch of facts and say so after each, until somebody kills them.

Run as a program, it starts a writer for every line of its input, ``ADDRESS NAME BATCHES``: quickly, since all have been
imported by then. It prints ``started PID``; the writer prints ``stored NUMBER`` after every batch; and when the writer
is gone, it prints ``ended``.
"""

import os
import sys
from importlib import import_module
from typing import NoReturn

from store.samples import dataset
from titer.store.facts import FactStore, NamedFact

BATCH = 7


def batch(writer: str, number: int) -> list[NamedFact]:
    """Facts that no other writer adds."""
    return [NamedFact(writer, "visit", f"{writer} {number} {i}", 10) for i in range(BATCH)]


def say(line: str) -> None:
    """At once, and whole: what is said was done before."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def write(address: str, writer: str, num_batches: int) -> NoReturn:
    """Add batches, and say the number of each when it is stored."""
    with FactStore(address, dataset()) as store:
        for number in range(num_batches):
            store.add(batch(writer, number))
            say(f"stored {number}")
    os._exit(0)


def main() -> None:
    """Start a writer for every line, and wait for its end."""
    import_module("psycopg")  # before the first writer starts, not in each

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
