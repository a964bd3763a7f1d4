"""The database of a fact store: opened or created, checked, and used in transactions."""

import os
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from titer.data.dataset import Dataset
from titer.errors import StoreError
from titer.extras import missing

try:
    from sqlalchemy import Connection, Engine, insert, inspect, select, text
    from sqlalchemy.exc import SQLAlchemyError
except ImportError:
    raise missing("a fact store", "serve") from None

from titer.store import schema
from titer.store.database import WRITES, connect, create_sqlite, database_url, shown, without_secrets

CREATION_LOCK = 0x7174_6572
"""Key of an advisory lock: without it, PostgreSQL lets two processes create the same table, and one fails."""


class OpenedStore:
    """The tables of a fact store that belongs to a dataset.

    Attributes:
        name: The URL of the database, without passwords.
        dataset: The dataset that the facts continue.
    """

    def __init__(self, address: str | Path, dataset: Dataset):
        self._url = database_url(address)
        self.name = shown(self._url)
        self.dataset = dataset
        self._file = Path(self._url.database or "") if self._url.get_backend_name() == "sqlite" else None
        with self._guard():
            if self._file is not None and not self._file.exists():
                create_sqlite(self._file, self._fill)
            found = self._file.stat() if self._file is not None else None
        self._inode = found.st_ino if found is not None else None
        if found is not None and found.st_size == 0:
            self._refuse(set())
        self._read_only = self._file is not None and not _is_writable(self._file)
        self._engine = connect(self._url, read_only=self._read_only)
        weakref.finalize(self, self._engine.dispose)  # in case it is never closed
        try:
            with self._guard():
                self._open()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections to the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open(self) -> None:
        with self._engine.connect() as connection:
            tables = set(inspect(connection).get_table_names())
        if not {schema.about.name, schema.facts.name} <= tables:
            if self._file is not None:
                self._refuse(tables)
            self._fill(self._engine)
        elif not set(schema.metadata.tables) <= tables and not self._read_only:
            self._fill(self._engine)  # a store of an older version, without a journal
        self._has_journal = not self._read_only or set(schema.metadata.tables) <= tables
        with self._engine.connect() as connection:
            found = connection.execute(select(schema.about)).one_or_none()
        if found is None:
            raise StoreError(f"{self.name} is damaged: the table {schema.about.name} is empty")
        if found.format not in schema.FORMATS:
            raise StoreError(f"{self.name} has format {found.format}; this version of titer uses {schema.FORMATS[-1]}")
        if found.dataset != self.dataset.checksum:
            raise StoreError(
                f"{self.name} belongs to another dataset ({found.dataset_name!r} "
                f"{found.dataset[:8]}, not {self.dataset.name!r} {self.dataset.checksum[:8]})"
            )

    def _refuse(self, tables: set[str]) -> None:
        if tables:
            raise StoreError(f"{self.name} is not a fact store: it has no table {schema.about.name}")
        # A new store is never visible without its tables, so this one has lost them.
        raise StoreError(f"{self.name} is empty: its facts were lost; restore it, or delete it to go on without them")

    def _fill(self, engine: Engine) -> None:
        """Create the tables that do not exist yet."""
        with self._writing(engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})"))
            schema.metadata.create_all(connection)
            if connection.execute(select(schema.about)).one_or_none() is None:
                first = {"id": 1, "format": schema.FORMATS[0], "last_sequence": 0}
                whose = {"dataset": self.dataset.checksum, "dataset_name": self.dataset.name}
                connection.execute(insert(schema.about).values(**first, **whose))

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        """Yield a connection whose statements all see the same state."""
        with self._engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def _writing(self, engine: Engine | None = None) -> Generator[Connection]:
        if engine is None and self._read_only:
            raise StoreError(f"{self.name} is read-only; copy the run to a place that can be written to")
        with (engine or self._engine).connect() as connection:
            connection = connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    def _check_file(self) -> None:
        """Check that the open file is still the one at its path: facts in a deleted file do not last."""
        try:
            if self._file is not None and self._inode not in (None, self._file.stat().st_ino):
                raise StoreError(f"{self.name} was replaced while it was in use; restart to use the new one")
        except OSError as error:
            raise StoreError(f"{self.name} was deleted or moved while it was in use: {error.strerror}") from error

    @contextmanager
    def _guard(self) -> Generator[None]:
        """Turn errors of the database into a ``StoreError`` with one line."""
        try:
            if hasattr(self, "_engine"):
                self._check_file()
            yield
        except (SQLAlchemyError, OSError) as error:
            system = error.strerror if isinstance(error, OSError) else None
            reason = str(getattr(error, "orig", None) or system or error).strip().splitlines()[0]
            reason = without_secrets(reason, self._url)
            raise StoreError(f"{self.name} cannot be used as a fact store: {reason}") from error


def _is_writable(file: Path) -> bool:
    """Return whether an SQLite file can be written to, for which its folder must be, too."""
    return os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)
