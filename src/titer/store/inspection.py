"""A look into a run's database without opening it as a store."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path


@contextmanager
def without_writers(path: Path) -> Generator[None]:
    """Let no process add facts to an SQLite store, if there is one, as long as the block lasts."""
    if not path.exists():
        yield
        return
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        with suppress(sqlite3.Error):  # a damaged store counts as one with facts
            connection.execute("BEGIN IMMEDIATE")
        yield


def holds_facts(path: Path) -> bool:
    """Return whether a SQLite store holds added facts; one that was only opened, as by a service, holds none."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT last_sequence FROM titer_store").fetchone() != (0,)
    except sqlite3.Error:
        return True  # A damaged store may still hold facts, so it is never overwritten.
