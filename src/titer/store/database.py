"""The databases that can hold facts: SQLite files and PostgreSQL servers."""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from titer.errors import StoreError
from titer.extras import missing
from titer.files.atomic import file_mode
from titer.files.folders import flush
from titer.files.leftovers import PART
from titer.files.locks import try_lock

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


def shown(url: URL) -> str:
    """Return a URL for messages, with every password in it masked."""
    secret = {key: "***" for key in url.query if "pass" in key.lower() or "secret" in key.lower()}
    return url.update_query_dict(secret).render_as_string(hide_password=True)


def without_secrets(text: str, url: URL) -> str:
    """Return a message of a database driver without the passwords of a URL."""
    secrets = [str(url.password or "")]
    for key, value in url.query.items():
        if "pass" in key.lower() or "secret" in key.lower():
            secrets += [value] if isinstance(value, str) else value
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text


def connect(url: URL, *, read_only: bool = False) -> Engine:
    """Return an engine whose committed transactions survive the end of the process and a power failure.

    Args:
        url: The database.
        read_only: Open an SQLite file that cannot be written to.
    """
    if url.get_backend_name() == "sqlite":
        return _sqlite_read_only(Path(url.database or "")) if read_only else _sqlite(url)
    try:
        # Each statement sees all committed data, so what a writer reads after it waited for the lock is up to date.
        url = url.update_query_dict({name: value for name, value in TIMEOUTS.items() if name not in url.query})
        engine = create_engine(url, isolation_level="READ COMMITTED", pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError:
        raise missing("PostgreSQL", "postgres") from None

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


def _sqlite_read_only(path: Path) -> Engine:
    # Without a write-ahead log no process writes to the file, so no lock is needed, which could not be created.
    immutable = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    address = f"file:{quote(str(path.absolute()))}?mode=ro{immutable}"
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(address, uri=True, check_same_thread=False), hide_parameters=True
    )


def create_sqlite(path: Path, fill: Callable[[Engine], None]) -> None:
    """Create an SQLite file in one step, unless another process has created it by then.

    A file that exists is therefore never a store that is about to be filled.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=PART, dir=path.parent)
    temporary = Path(name)
    try:
        try_lock(handle)
        engine = _sqlite(URL.create("sqlite", database=name))
        try:
            fill(engine)
        finally:
            engine.dispose()  # writes the log into the file
        temporary.chmod(file_mode())
        flush(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not path.exists():
                temporary.rename(path)
        flush(path.parent)
    finally:
        os.close(handle)
        for left in (name, f"{name}-wal", f"{name}-shm"):
            Path(left).unlink(missing_ok=True)


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
