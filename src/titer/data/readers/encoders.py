"""Encoders of column values as integers. Each distinct value is parsed once."""

import re
from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from titer.data.partial_date import PartialDate
from titer.data.readers.merging import folded
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError
from titer.suggestions import suggest

_INTEGER = re.compile(r"([+-]?\d{1,18})(?:\.0*)?")


class Encoder(ABC):
    """Base class of encoders: every distinct value gets a code, negative if the value cannot be used."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}
        self._reasons: list[str] = []

    def encode(self, column: pa.DictionaryArray) -> NDArray[np.int64]:
        """Return the codes (rows,) of a column."""
        codes = self._codes
        table = np.empty(len(column.dictionary), dtype=np.int64)
        for index, value in enumerate(column.dictionary.to_pylist()):
            code = codes.get(value)
            if code is None:
                code = codes[value] = self._read(value)
            table[index] = code
        return table[column.indices.to_numpy(zero_copy_only=False)]

    def reason(self, code: int) -> str:
        """Return why the value with a negative code cannot be used."""
        return self._reasons[-code - 1]

    def _read(self, value: bytes) -> int:
        try:
            return self.code(value.decode("utf-8").strip())
        except UnicodeDecodeError:
            reason = "not UTF-8 text; --encoding sets another encoding"
        except DataError as error:
            reason = str(error)
        self._reasons.append(reason)
        return -len(self._reasons)

    @abstractmethod
    def code(self, text: str) -> int:
        """Return the code of a value, or raise ``DataError`` with the reason why it cannot be used."""


class NameEncoder(Encoder):
    """An encoder that numbers names in the order in which they first appear."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}

    def code(self, text: str) -> int:
        """Return the number of a name."""
        if not text:
            raise DataError("empty")
        if "\n" in text or "\r" in text:
            raise DataError("a line break in a name; check for an unclosed quotation mark")
        return self.names.setdefault(text, len(self.names))


class AttributeEncoder(NameEncoder):
    """An encoder of values that are only shown; any text is accepted, and an empty one is no value."""

    def code(self, text: str) -> int:
        """Return the number of a value."""
        return self.names.setdefault(" ".join(text.split()), len(self.names))


class WeightEncoder(Encoder):
    """An encoder of weights: the number of times that a fact counts."""

    MAX = 1000

    def code(self, text: str) -> int:
        """Return a weight, rounded to a whole number."""
        try:
            value = float(text)
        except ValueError:
            raise DataError("empty" if not text else f"{text!r} is not a number") from None
        if not 0 <= value <= self.MAX:
            raise DataError(f"the weight {text} is not between 0 and {self.MAX:,}")
        return round(value)


class RelationEncoder(NameEncoder):
    """An encoder of the relations of a dataset; others are rejected, since no model has learned them."""

    def __init__(self, relations: list[str], *, merge_names: bool = False):
        super().__init__()
        self.names = {name: i for i, name in enumerate(relations)}
        self.spellings = {folded(name): name for name in reversed(relations)} if merge_names else {}

    def code(self, text: str) -> int:
        """Return the id of a relation."""
        if text not in self.names:
            text = self.spellings.get(folded(text), text)
        if text and text not in self.names:
            close = suggest(text, list(self.names))
            raise DataError(f"unknown relation {text!r}" + "".join(f"; did you mean {name!r}?" for name in close))
        return super().code(text)


class IdEncoder(Encoder):
    """An encoder of ids that a dictionary defines."""

    def __init__(self, num_ids: int, what: str):
        super().__init__()
        self.num_ids = num_ids
        self.what = what

    def code(self, text: str) -> int:
        """Return the id itself."""
        value = parse_integer(text)
        if not 0 <= value < self.num_ids:
            raise DataError(f"unknown {self.what} id {value}; the dictionary has 0 to {self.num_ids - 1}")
        return value


class TimeEncoder(Encoder):
    """An encoder of dates or plain numbers. A code is a position in ``first`` and ``last``; code 0 is an open end.

    Without a ``unit``, the first value decides whether times are dates, and how long a time step is. The ``axis`` of an
    existing dataset overrides both, and plain numbers must be on one of its steps.
    """

    OPEN = 0

    def __init__(
        self,
        unit: TimeUnit | None = None,
        date_format: str | None = None,
        *,
        open_ends: bool = False,
        axis: TimeAxis | None = None,
        pivot_year: int | None = None,
    ):
        super().__init__()
        self.axis = axis
        unit = axis.unit if axis is not None else unit
        self.unit = unit
        self.unit_is_given = unit is not None
        self.date_format = date_format
        self.pivot_year = pivot_year
        self.open_ends = open_ends
        self.first = [0]  # hours since the epoch, or plain numbers
        self.last = [0]

    def code(self, text: str) -> int:
        """Return the position of a date or number."""
        if not text:
            return self._open("empty")
        if self.unit is None and self.date_format is None and _INTEGER.fullmatch(text):
            self.unit = TimeUnit.INTEGER
        if self.unit is TimeUnit.INTEGER:
            value = parse_integer(text)
            if self.axis is not None:
                self.axis.step(value)
            return self._add(value, value)
        parsed = self._parse(text)
        if parsed is None:
            return self._open(f"{text!r} is an unknown date")
        if self.unit is None:
            self.unit = parsed.unit
        if not self.open_ends:
            parsed.check_precision(self.unit, text)
        return self._add(int(parsed.first.astype(np.int64)), int(parsed.last.astype(np.int64)))

    def _parse(self, text: str) -> PartialDate | None:
        try:
            return PartialDate.parse(text, self.date_format, self.pivot_year)
        except DataError:
            # Later facts may be written like those of the dataset, or with ISO dates.
            if self.axis is None or self.date_format is None:
                raise
        return PartialDate.parse(text)

    def _open(self, reason: str) -> int:
        if not self.open_ends:
            raise DataError(reason)
        return self.OPEN

    def _add(self, first: int, last: int) -> int:
        self.first.append(first)
        self.last.append(last)
        return len(self.first) - 1


def parse_integer(text: str) -> int:
    """Parse an integer; ``24.0``, as pandas and spreadsheets write it, is one too."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise DataError("empty" if not text else f"{text!r} is not an integer")
    return int(match[1])
