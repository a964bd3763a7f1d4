"""A look into a run's database without opening it as a store."""

import sqlite3
from contextlib import closing
from pathlib import Path


def holds_facts(path: Path) -> bool:
    """Return whether a SQLite store holds added facts; one that was only opened, as by a service, holds none."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT last_sequence FROM titer_store").fetchone() != (0,)
    except sqlite3.Error:
        return True  # A damaged store may still hold facts, so it is never overwritten.
