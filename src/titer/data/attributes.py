"""Columns of imported files that are kept for display, aligned with the facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from titer.data.facts import Facts

PREFIX = "attribute "
"""What the columns of attributes begin with in a dataset folder."""


@dataclass(frozen=True, eq=False)
class Attributes:
    """Values that are shown with a fact and not used by any model.

    Args:
        columns: For each attribute the values of all facts of the dataset. (facts,)
    """

    columns: Mapping[str, pa.DictionaryArray]

    @classmethod
    def of(cls, values: Mapping[str, tuple[NDArray[np.int32], Sequence[str]]]) -> "Attributes":
        """Return attributes from codes.

        Args:
            values: For each attribute the code of each fact, and the text of each code.
        """
        return cls(
            {
                name: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(texts), pa.string()))
                for name, (codes, texts) in values.items()
            }
        )

    @property
    def names(self) -> list[str]:
        """The names of the attributes."""
        return list(self.columns)

    def slice(self, start: int, length: int) -> dict[str, pa.DictionaryArray]:
        """Return the columns of some facts, as they are stored in a dataset folder.

        Args:
            start: The position of the first fact.
            length: The number of facts.
        """
        return {f"{PREFIX}{name}": column.slice(start, length) for name, column in self.columns.items()}

    @classmethod
    def from_tables(cls, tables: Sequence[pa.Table]) -> "Attributes | None":
        """Return the attributes of a dataset folder, or ``None`` if there are none.

        Args:
            tables: The tables of the splits, in order.
        """
        names = [name for name in tables[0].column_names if name.startswith(PREFIX)]
        if not names:
            return None
        joined = {name: pa.chunked_array([chunk for table in tables for chunk in table[name].chunks]) for name in names}
        return cls(
            {name.removeprefix(PREFIX): column.unify_dictionaries().combine_chunks() for name, column in joined.items()}
        )

    def find(self, facts: Facts, fact: tuple[int, int, int, int]) -> dict[str, str]:
        """Return the attributes of a fact that are not empty; those of the first one if it is repeated.

        Args:
            facts: All facts of the dataset, in order of time.
            fact: Subject, relation, object and time.
        """
        first, last = np.searchsorted(facts.time, [fact[3], fact[3] + 1])
        rows = slice(int(first), int(last))
        same = (facts.subject[rows] == fact[0]) & (facts.relation[rows] == fact[1]) & (facts.object[rows] == fact[2])
        found = np.flatnonzero(same)
        if len(found) == 0:
            return {}
        values = {name: column[int(first) + int(found[0])].as_py() for name, column in self.columns.items()}
        return {name: value for name, value in values.items() if value}
