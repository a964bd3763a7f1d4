"""Facts as four integer columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.integer[Any]]
COLUMNS = ("subject", "relation", "object", "time")


@dataclass(frozen=True, eq=False)
class Facts:
    """Dated facts (subject, relation, object, time), one row each, as numpy columns.

    Subjects and objects are entity ids, relations relation ids of a ``Vocabulary``, and a time is a
    step of a ``TimeAxis``. Columns may be memory-mapped and are never written to.
    """

    subject: Column  # (facts,) int32
    relation: Column  # (facts,) int32
    object: Column  # (facts,) int32
    time: Column  # (facts,) int64

    def __post_init__(self) -> None:
        for name, dtype in zip(COLUMNS, (np.int32, np.int32, np.int32, np.int64), strict=True):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=dtype))
        if len({column.shape for column in self.columns}) != 1 or self.subject.ndim != 1:
            raise ValueError("the four columns of facts must be flat and equally long")

    @classmethod
    def empty(cls) -> "Facts":
        """No facts at all."""
        return cls.from_rows([])

    @classmethod
    def from_rows(cls, rows: list[tuple[int, int, int, int]] | NDArray[np.integer]) -> "Facts":
        """Facts from (subject, relation, object, time) rows."""
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 4)
        return cls(*(table[:, i] for i in range(4)))

    @classmethod
    def concatenate(cls, *parts: "Facts") -> "Facts":
        """All rows of ``parts``, in order."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS))

    @property
    def columns(self) -> tuple[Column, Column, Column, Column]:
        """The four columns in their usual order."""
        return self.subject, self.relation, self.object, self.time

    def __len__(self) -> int:
        return len(self.subject)

    def __getitem__(self, rows: Any) -> "Facts":
        """The chosen rows: a slice, a boolean mask or an array of positions."""
        return Facts(*(column[rows] for column in self.columns))

    def __iter__(self) -> Iterator[tuple[int, int, int, int]]:
        return zip(*(column.tolist() for column in self.columns), strict=True)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Facts):
            return NotImplemented
        return all(np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def mentions(self, num_entities: int) -> NDArray[np.bool_]:
        """Which entities appear in these facts, as subject or object. (num_entities,)"""
        seen = np.zeros(num_entities, dtype=bool)
        seen[self.subject] = seen[self.object] = True
        return seen

    def before(self, time: int) -> "Facts":
        """The facts strictly before a step."""
        return self[self.time < time]

    def sorted_by_time(self) -> "Facts":
        """The same facts in order of time; facts of one step keep their order."""
        if len(self) < 2 or bool(np.all(self.time[1:] >= self.time[:-1])):
            return self
        return self[np.argsort(self.time, kind="stable")]

    def first_occurrences(self) -> NDArray[np.bool_]:
        """Marks the rows that repeat no earlier row."""
        order = np.lexsort(self.columns)  # stable: of equal rows the earliest comes first
        repeated = np.ones(max(len(self) - 1, 0), dtype=bool)
        for column in self.columns:
            ordered = column[order]
            repeated &= ordered[1:] == ordered[:-1]
        first = np.ones(len(self), dtype=bool)
        first[order[1:][repeated]] = False
        return first

    @property
    def num_duplicates(self) -> int:
        """How many rows repeat an earlier one."""
        return len(self) - int(self.first_occurrences().sum())
