"""Data frames of pandas, polars and Arrow as tables."""

from typing import Any

import pyarrow as pa

from titer.errors import DataError


def to_arrow(frame: Any) -> pa.Table:
    """Return a data frame as an Arrow table.

    Args:
        frame: A data frame of pandas or polars, an Arrow table, or anything else that Arrow can read.

    Raises:
        DataError: If Arrow cannot read it.
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        if type(frame).__module__.startswith("pandas"):
            return _from_pandas(frame)
        return pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"a {type(frame).__name__} is not a data frame that can be read: {error}; "
            "give one of pandas or polars, or an Arrow table"
        ) from error


def _from_pandas(frame: Any) -> pa.Table:
    """Return the columns of a pandas frame; those that Arrow does not know are read as text."""
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        try:
            array = pa.array(column, from_pandas=True)
            if isinstance(array.type, pa.ExtensionType):
                raise pa.ArrowInvalid("an extension type")
        except pa.ArrowException:
            texts = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
            array = pa.array(texts, pa.string())
        if str(name) in columns:
            raise DataError(f"the data frame has two columns {str(name)!r}")
        columns[str(name)] = array
    return pa.table(columns)
