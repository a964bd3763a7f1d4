"""The interface of all table readers: batches of dictionary-encoded columns.

Columns are dictionary-encoded, so that names, numbers and dates are parsed once per distinct value instead of once per
row. Values stay the bytes that are in the file. Each row keeps its number in the file, for error messages.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from titer.data.readers.rejections import Rejections
from titer.errors import DataError

ENCODED = pa.dictionary(pa.int32(), pa.binary())


@dataclass(frozen=True)
class Batch:
    """Some rows of a table: the requested columns, and the number of each row in its file."""

    columns: dict[str, pa.DictionaryArray]
    rows: NDArray[np.int64]  # (rows,)

    def text(self, position: int) -> str:
        """Return one row as comma-separated text, for an error message."""
        return ",".join(self.value(name, position) for name in self.columns)

    def value(self, column: str, position: int) -> str:
        """Return one value as text."""
        return (self.columns[column][position].as_py() or b"").decode("utf-8", "replace")


class Source(ABC):
    """A table with named columns that is read once, from beginning to end.

    Attributes:
        path: The file.
        name: What messages call the table.
        delimiter: What separates the fields of a row of text.
        keeps_all: Whether values that are neither text nor numbers are read too, as text.
        text_columns: Columns in which such values are read as text anyway.
    """

    delimiter = ","
    keeps_all = False
    text_columns: frozenset[str] = frozenset()

    def __init__(self, path: Path):
        self.path = path
        self.name = str(path)
        self._columns: list[str] | None = None

    def columns(self) -> list[str]:
        """Return the names of all columns. The file is read only the first time."""
        if self._columns is None:
            columns = self._read_columns()
            if repeated := [name for name, count in Counter(columns).items() if count > 1]:
                raise DataError(f"{self.name}, row 1: column {repeated[0]!r} appears twice")
            self._columns = columns
        return self._columns

    @abstractmethod
    def _read_columns(self) -> list[str]:
        """Read the names of all columns from the file."""

    @abstractmethod
    def head(self, num_rows: int) -> dict[str, list[str]]:
        """Return the first values of all columns as text; an empty one is missing."""

    def split(self, text: str) -> list[str]:
        """Split a row of text that is not in ``batches`` into fields, as well as possible."""
        return [text]

    @abstractmethod
    def batches(self, wanted: list[str], rejections: Rejections) -> Iterator[Batch]:
        """Yield the wanted columns, some rows at a time.

        Blank rows are counted in ``rejections``, and rows that cannot be split into columns are added to it.
        """


def encode(column: pa.Array) -> pa.DictionaryArray:
    """Return any column as dictionary-encoded bytes; a missing value becomes an empty one."""
    if not pa.types.is_binary(column.type):
        column = column.cast(pa.string()).cast(pa.binary())
    return column.fill_null(b"").dictionary_encode()
