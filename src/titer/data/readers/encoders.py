"""From written values to integers, one distinct value at a time."""

import re
from abc import ABC, abstractmethod
from difflib import get_close_matches

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from titer.data.time_axis import FINE_TO_COARSE, Moment, TimeAxis, TimeUnit
from titer.errors import DataError

_INTEGER = re.compile(r"([+-]?\d{1,18})(?:\.0*)?")


class Encoder(ABC):
    """Gives every distinct value a code. A negative code stands for a value that cannot be used."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}
        self._reasons: list[str] = []

    def encode(self, column: pa.DictionaryArray) -> NDArray[np.int64]:
        """The codes of a column."""
        codes = self._codes
        table = np.empty(len(column.dictionary), dtype=np.int64)
        for index, value in enumerate(column.dictionary.to_pylist()):
            code = codes.get(value)
            if code is None:
                code = codes[value] = self._read(value)
            table[index] = code
        return table[column.indices.to_numpy(zero_copy_only=False)]

    def reason(self, code: int) -> str:
        """Why a value with this negative code cannot be used."""
        return self._reasons[-code - 1]

    def _read(self, value: bytes) -> int:
        try:
            return self.code(value.decode("utf-8").strip())
        except UnicodeDecodeError:
            reason = "not UTF-8 text (--encoding names another encoding)"
        except DataError as error:
            reason = str(error)
        self._reasons.append(reason)
        return -len(self._reasons)

    @abstractmethod
    def code(self, text: str) -> int:
        """The code of a value; raises ``DataError`` with the reason if it has none."""


class NameEncoder(Encoder):
    """Names, numbered in the order in which they first appear."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a name."""
        if not text:
            raise DataError("empty")
        if "\n" in text or "\r" in text:
            raise DataError("a line break in a name; is a quotation mark left open?")
        return self.names.setdefault(text, len(self.names))


class RelationEncoder(NameEncoder):
    """Relations that a model has learned; it can say nothing about any other."""

    def __init__(self, relations: list[str]):
        super().__init__()
        self.names = {name: i for i, name in enumerate(relations)}

    def code(self, text: str) -> int:
        """The number of a known relation."""
        if text and text not in self.names:
            close = get_close_matches(text, self.names, 1)
            raise DataError(
                f"the relation {text!r} was never learned" + "".join(f"; is it {name!r}?" for name in close)
            )
        return super().code(text)


class IdEncoder(Encoder):
    """Ids of a dictionary that is already known."""

    def __init__(self, num_ids: int, what: str):
        super().__init__()
        self.num_ids = num_ids
        self.what = what

    def code(self, text: str) -> int:
        """The id itself."""
        value = parse_integer(text)
        if not 0 <= value < self.num_ids:
            raise DataError(f"unknown {self.what} id {value}; the dictionary has 0 to {self.num_ids - 1}")
        return value


class TimeEncoder(Encoder):
    """Dates or plain numbers. A code is a position in ``first`` and ``last``; code 0 is an open end.

    Without a ``unit``, the first value decides whether times are dates, and how long a step is. An ``axis`` that is
    already there decides it too, and plain numbers must lie on it.
    """

    OPEN = 0

    def __init__(
        self,
        unit: TimeUnit | None = None,
        date_format: str | None = None,
        *,
        open_ends: bool = False,
        axis: TimeAxis | None = None,
    ):
        super().__init__()
        self.axis = axis
        unit = axis.unit if axis is not None else unit
        self.unit = unit
        self.unit_is_given = unit is not None
        self.date_format = date_format
        self.open_ends = open_ends
        self.first = [0]  # hours since the epoch, or plain numbers
        self.last = [0]

    def code(self, text: str) -> int:
        """The position of a moment."""
        if not text:
            return self._open("empty")
        if self.unit is None and self.date_format is None and _INTEGER.fullmatch(text):
            self.unit = TimeUnit.INTEGER
        if self.unit is TimeUnit.INTEGER:
            value = parse_integer(text)
            if self.axis is not None:
                self.axis.step(value)
            return self._add(value, value)
        moment = Moment.parse(text, self.date_format)
        if moment is None:
            return self._open(f"{text!r} is an unknown date")
        if self.unit is None:
            self.unit = moment.unit
        if not self.open_ends and FINE_TO_COARSE.index(moment.unit) > FINE_TO_COARSE.index(self.unit):
            raise DataError(f"{text!r} names only a {moment.unit}, and time is counted by the {self.unit}")
        return self._add(int(moment.first.astype(np.int64)), int(moment.last.astype(np.int64)))

    def _open(self, reason: str) -> int:
        if not self.open_ends:
            raise DataError(reason)
        return self.OPEN

    def _add(self, first: int, last: int) -> int:
        self.first.append(first)
        self.last.append(last)
        return len(self.first) - 1


def parse_integer(text: str) -> int:
    """A whole number, as pandas and spreadsheets write one."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise DataError("empty" if not text else f"{text!r} is not a whole number")
    return int(match[1])
