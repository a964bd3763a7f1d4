"""Facts as four columns of integers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.integer[Any]]
COLUMNS = ("subject", "relation", "object", "time")


@dataclass(frozen=True, eq=False)
class Facts:
    """Dated facts, one per row, as four numpy columns.

    The columns may be memory-mapped, so they must not be written to. Iterating yields (subject, relation, object, time)
    tuples, and indexing with a slice, a boolean mask or an array of positions selects rows.

    Args:
        subject: Entity ids of a ``Vocabulary``. (facts,) int32
        relation: Relation ids of a ``Vocabulary``. (facts,) int32
        object: Entity ids of a ``Vocabulary``. (facts,) int32
        time: Time steps of a ``TimeAxis``. (facts,) int64

    Raises:
        ValueError: If the columns are not flat or differ in length.
    """

    subject: Column  # (facts,) int32
    relation: Column  # (facts,) int32
    object: Column  # (facts,) int32
    time: Column  # (facts,) int64

    def __post_init__(self) -> None:
        for name, dtype in zip(COLUMNS, (np.int32, np.int32, np.int32, np.int64), strict=True):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        if len({column.shape for column in self.columns}) != 1 or self.subject.ndim != 1:
            raise ValueError("the four columns of facts must be one-dimensional and equally long")

    @classmethod
    def empty(cls) -> "Facts":
        """Return a table without facts."""
        return cls.from_rows([])

    @classmethod
    def from_rows(cls, rows: list[tuple[int, int, int, int]] | NDArray[np.integer]) -> "Facts":
        """Return facts made from rows.

        Args:
            rows: (subject, relation, object, time) tuples, or an array. (facts, 4)
        """
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
        return cls(*(table[:, i] for i in range(4)))

    @classmethod
    def concatenate(cls, *parts: "Facts") -> "Facts":
        """Return facts joined in order.

        Args:
            *parts: The facts, in the order in which to join them.
        """
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS))

    @property
    def columns(self) -> tuple[Column, Column, Column, Column]:
        """The columns subject, relation, object and time."""
        return self.subject, self.relation, self.object, self.time

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: Any) -> "Facts":
        """Return the selected rows.

        Args:
            rows: A slice, a boolean mask or an array of positions.
        """
        return Facts(*(column[rows] for column in self.columns))

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        return zip(*(column.tolist() for column in self.columns), strict=True)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Facts):
            return NotImplemented
        return all(np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True))

    # None is Python's mark of an unhashable class; the stubs declare a method.
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def mentions(self, num_entities: int) -> NDArray[np.bool_]:
        """Return which entities appear in these facts, as subject or object.

        Args:
            num_entities: The number of entities of the vocabulary.

        Returns:
            A mask of the entities. (num_entities,)
        """
        seen = np.zeros(num_entities, dtype=bool)
        seen[self.subject] = seen[self.object] = True
        return seen

    def before(self, time: int) -> "Facts":
        """Return the facts strictly before a time step.

        Args:
            time: The time step.
        """
        return self[self.time < time]

    def sorted_by_time(self) -> "Facts":
        """Return the facts in order of time; facts of one time step keep their order."""
        if len(self) < 2 or bool(np.all(self.time[1:] >= self.time[:-1])):
            return self
        return self[np.argsort(self.time, kind="stable")]

    def first_occurrences(self) -> NDArray[np.bool_]:
        """Return a mask (facts,) of the rows that do not repeat an earlier row."""
        order = np.lexsort(self.columns)  # stable: the earliest of equal rows comes first
        repeated = np.ones(max(len(self) - 1, 0), dtype=bool)
        for column in self.columns:
            ordered = column[order]
            repeated &= ordered[1:] == ordered[:-1]
        first = np.ones(len(self), dtype=bool)
        first[order[1:][repeated]] = False
        return first

    @property
    def num_duplicates(self) -> int:
        """The number of rows that repeat an earlier row."""
        return len(self) - int(self.first_occurrences().sum())
