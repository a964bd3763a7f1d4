"""Databases that can keep facts: SQLite in a file, PostgreSQL by its address."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from titer.errors import StoreError

BUSY_SECONDS = 60
"""How long a writer waits for others before it gives up."""
PATIENCE = {"connect_timeout": "10", "tcp_user_timeout": "30000"}
"""Seconds, and milliseconds, after which a PostgreSQL server that says nothing is taken to be gone."""
WRITES = "titer_writes"
EXAMPLES = "sqlite:///FILE or postgresql://USER@HOST/NAME"


def database_url(address: str | Path) -> URL:
    """The URL of a database that titer can use. A path is the file of an SQLite database."""
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address))
    try:
        url = make_url(address)
    except ArgumentError:
        raise StoreError(f"that is not the address of a database; one looks like {EXAMPLES}") from None
    match url.get_backend_name():
        case "sqlite" if url.database and url.database != ":memory:" and "mode" not in url.query:
            return url.set(drivername="sqlite")
        case "sqlite":
            raise StoreError("facts are kept in a file: sqlite:///FILE names one")
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise StoreError(f"facts are kept in SQLite or PostgreSQL, not in {other}: {EXAMPLES}")


def connect(url: URL) -> Engine:
    """An engine whose committed transactions survive the end of the process, and a power cut."""
    if url.get_backend_name() == "sqlite":
        return _sqlite(url)
    try:
        # Each statement sees all that is committed: what was read after the lock was waited for is the latest.
        url = url.update_query_dict({name: value for name, value in PATIENCE.items() if name not in url.query})
        engine = create_engine(url, isolation_level="READ COMMITTED", pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError:
        raise StoreError("PostgreSQL is reached through psycopg: pip install 'titer[postgres]'") from None

    @event.listens_for(engine, "begin")
    def durably(connection: Connection) -> None:
        if connection.get_execution_options().get(WRITES):
            # A server may be set to answer before a transaction is on disk.
            is_off = "current_setting('synchronous_commit') = 'off'"
            connection.exec_driver_sql(f"SELECT set_config('synchronous_commit', 'on', true) WHERE {is_off}")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")

    return engine


def _sqlite(url: URL) -> Engine:
    engine = create_engine(url, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # where a transaction begins is said below, not guessed by the driver
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
        _write_ahead(connection)
        # The log reaches the disk before a commit returns.
        connection.execute("PRAGMA synchronous = FULL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log; SQLite does not wait by itself if another process is doing the same."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
