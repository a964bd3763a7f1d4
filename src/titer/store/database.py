"""The databases that can hold facts: SQLite files and PostgreSQL servers."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from titer.errors import StoreError

BUSY_SECONDS = 60
"""How long a writer waits for other writers."""
TIMEOUTS = {"connect_timeout": "10", "tcp_user_timeout": "30000"}
"""Seconds, and milliseconds, after which a PostgreSQL server that does not respond is considered unreachable."""
WRITES = "titer_writes"
EXAMPLES = "sqlite:///FILE or postgresql://USER@HOST/NAME"


def database_url(address: str | Path) -> URL:
    """Return the URL of a database; a path is the file of an SQLite database."""
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address))
    try:
        url = make_url(address)
    except ArgumentError:
        raise StoreError(f"not a database URL; use {EXAMPLES}") from None
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:" and "mode" not in url.query:
            return url.set(drivername="sqlite")
        case "sqlite":
            raise StoreError("an SQLite fact store needs a file; use sqlite:///FILE")
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise StoreError(f"unsupported database {other}; use {EXAMPLES}")


def connect(url: URL) -> Engine:
    """Return an engine whose committed transactions survive the end of the process and a power failure."""
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    try:
        # Each statement sees all committed data, so what a writer reads after it waited for the lock is up to date.
        url = url.update_query_dict({name: value for name, value in TIMEOUTS.items() if name not in url.query})
        engine = create_engine(url, isolation_level="READ COMMITTED", pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError:
        raise StoreError("PostgreSQL needs psycopg; run: pip install 'titer[postgres]'") from None

    @event.listens_for(engine, "begin")
    def durably(connection: Connection) -> None:
        if connection.get_execution_options().get(WRITES):
            # A server can be configured to confirm a transaction before it is on disk.
            is_off = "current_setting('synchronous_commit') = 'off'"
            connection.exec_driver_sql(f"SELECT set_config('synchronous_commit', 'on', true) WHERE {is_off}")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")

    return engine


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # transactions begin explicitly, below
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        _write_ahead(connection)
        # A commit returns when the log is on disk.
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log; SQLite itself does not wait while another process does the same."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
