"""What a part of a fact is made of: a column, joined columns, fallbacks, or a constant."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from titer.errors import DataError

JOIN = b" "
"""What joined values are separated with."""


@dataclass(frozen=True)
class Term:
    """A column of a table, or a constant."""

    text: str
    is_constant: bool = False


@dataclass(frozen=True)
class Expression:
    """Alternatives, of which the first one with a value is used; each is one term or several that are joined."""

    alternatives: tuple[tuple[Term, ...], ...]

    @classmethod
    def parse(cls, text: str, present: Sequence[str]) -> "Expression":
        """Read an expression such as ``ACTOR2|COUNTRY``, ``first+last`` or ``"acquired"``.

        A column whose name contains ``|`` or ``+`` can be named as it is.

        Args:
            text: The expression.
            present: The columns of the table.

        Raises:
            DataError: If the table has no such column.
        """
        if (column := find_column(text, present)) is not None:
            return cls(((Term(column),),))
        return cls(
            tuple(tuple(_term(part, present) for part in _split(alternative, "+")) for alternative in _split(text, "|"))
        )

    @classmethod
    def constant(cls, value: str) -> "Expression":
        """Return the expression of a value that all rows have."""
        return cls(((Term(value, is_constant=True),),))

    @property
    def columns(self) -> list[str]:
        """The columns that are needed."""
        terms = (term for alternative in self.alternatives for term in alternative)
        return list(dict.fromkeys(term.text for term in terms if not term.is_constant))

    def evaluate(
        self, columns: Mapping[str, pa.DictionaryArray], num_rows: int, missing: frozenset[bytes] = frozenset()
    ) -> pa.DictionaryArray:
        """Return the values as a dictionary-encoded column; a missing value is empty.

        Args:
            columns: The encoded columns.
            num_rows: The number of rows.
            missing: Words that mean that there is no value.
        """
        result: pa.DictionaryArray | None = None
        for alternative in self.alternatives:
            value: pa.DictionaryArray | None = None
            for term in alternative:
                column = _constant(term.text, num_rows) if term.is_constant else _without(columns[term.text], missing)
                value = column if value is None else _combine(value, column, _joined)
            assert value is not None
            result = value if result is None else _combine(result, value, _first)
        assert result is not None
        return result


def find_column(name: str, present: Iterable[str]) -> str | None:
    """Return the column with a name, or the only one that has it in another capitalisation."""
    present = list(present)
    if name in present:
        return name
    same = [column for column in present if column.casefold() == name.casefold()]
    return same[0] if len(same) == 1 else None


def _split(text: str, separator: str) -> list[str]:
    """Split a text at a separator that is not inside quotation marks."""
    parts, quoted = [""], False
    for character in text:
        quoted ^= character == '"'
        if character == separator and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _term(text: str, present: Sequence[str]) -> Term:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return Term(next(csv.reader([text]))[0], is_constant=True)
    column = find_column(text, present)
    if column is None:
        raise DataError(f"no column {text!r}")
    return Term(column)


def _constant(text: str, num_rows: int) -> pa.DictionaryArray:
    indices = pa.array(np.zeros(num_rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([text.encode()], pa.binary()))


def _without(column: pa.DictionaryArray, missing: frozenset[bytes]) -> pa.DictionaryArray:
    """Return a column in which the words for missing values are empty."""
    if not missing:
        return column
    values = [b"" if value.strip() in missing else value for value in column.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(column.indices, pa.array(values, pa.binary()))


def _combine(
    a: pa.DictionaryArray, b: pa.DictionaryArray, operation: Callable[[bytes, bytes], bytes]
) -> pa.DictionaryArray:
    """Combine two columns; the operation is applied once to each distinct pair of values."""
    left, right = (column.indices.to_numpy(zero_copy_only=False).astype(np.int64) for column in (a, b))
    pairs, indices = np.unique(left * len(b.dictionary) + right, return_inverse=True)
    first, second = a.dictionary.to_pylist(), b.dictionary.to_pylist()
    values = [operation(first[pair // len(second)], second[pair % len(second)]) for pair in pairs.tolist()]
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), pa.array(values, pa.binary()))


def _joined(a: bytes, b: bytes) -> bytes:
    """Join two values. If one is missing, so is the result, and a fallback can take its place."""
    return a.strip() + JOIN + b.strip() if a.strip() and b.strip() else b""


def _first(a: bytes, b: bytes) -> bytes:
    return a if a.strip() else b
