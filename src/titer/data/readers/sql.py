"""Tables that a database returns for a query."""

from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from titer.data.readers.inputs import InputFile
from titer.errors import DataError
from titer.extras import missing

BATCH_ROWS = 50_000
POSTGRES_DRIVER = "postgresql+psycopg"
"""The driver of the extra ``postgres``."""


def run_query(url: str, query: str, target: Path) -> InputFile:
    """Run a query, and write its result to a Feather file. Memory is bounded by the rows of one batch.

    Args:
        url: A database, as SQLAlchemy names it: ``sqlite:///events.db``, ``postgresql+psycopg://USER@HOST/NAME``.
        query: The SQL query. Its columns are those of the table.
        target: The file to write.

    Raises:
        DataError: If the database cannot be reached, or the query fails.
        MissingPackageError: If SQLAlchemy is not installed, or the driver for PostgreSQL.
    """
    try:
        from sqlalchemy import NullPool, create_engine, make_url, text
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError
    except ImportError:
        raise missing("reading from a database", "sql") from None
    try:
        address = make_url(url)
        name = address.render_as_string(hide_password=True)
        if address.drivername == "postgresql":
            address = address.set(drivername=POSTGRES_DRIVER)  # the default depends on the version of SQLAlchemy
    except ArgumentError:
        raise DataError(
            f"{url!r} is not the URL of a database; write it like sqlite:///events.db or postgresql://USER@HOST/NAME"
        ) from None
    try:
        # Without a pool, the connection is closed at the end of the block, also after an error.
        engine = create_engine(address, poolclass=NullPool)
        with engine.connect() as connection:
            result = connection.execution_options(stream_results=True).execute(text(query))
            if not result.returns_rows:
                raise DataError(f"{name}: the query returns no rows; it must be a SELECT")
            columns = [str(key) for key in result.keys()]  # noqa: SIM118 - a result is not a dictionary
            _write(result.partitions(BATCH_ROWS), columns, target)
    except SQLAlchemyError as error:
        raise DataError(f"{name}: the query failed: {getattr(error, 'orig', None) or error}") from error
    except ImportError as error:
        if address.drivername == POSTGRES_DRIVER:
            raise missing("reading from PostgreSQL", "postgres") from error
        raise DataError(f"{name}: the driver of this database is not installed: {error}") from error
    return InputFile(target, name)


def _write(batches: Any, columns: Sequence[str], target: Path) -> None:
    schema = pa.schema([(name, pa.string()) for name in columns])
    with pa.ipc.new_file(str(target), schema) as writer:
        for rows in batches:
            arrays = [pa.array([_text(row[i]) for row in rows], pa.string()) for i in range(len(columns))]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _text(value: Any) -> str | None:
    """Return a value of a database as text; dates as ISO dates."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else str(value)
