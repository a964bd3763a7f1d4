"""Rows that cannot be read: counted by reason, and skipped or reported together as one error."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from titer.counted import counted
from titer.errors import DataError

if TYPE_CHECKING:
    from titer.data.readers.base import Source

MAX_REASONS = 8
"""Number of reasons that a message lists."""


@dataclass(frozen=True, order=True)
class Problem:
    """The reason why one row of a file cannot be used."""

    file: str
    """The file, or the name that the caller gave to facts in memory."""
    row: int
    """The number of the row, from 1."""
    column: str
    """The column with the wrong value; empty if the whole row is wrong."""
    reason: str
    """What is wrong."""
    text: str = ""
    """The row as it was read."""

    def __str__(self) -> str:
        column = f", column {self.column!r}" if self.column else ""
        return f"{self.file}, row {self.row}{column}: {self.reason}"


@dataclass
class ReasonCount:
    """How many rows have one kind of problem."""

    first: Problem
    count: int = 0


@dataclass
class Rejections:
    """The rejected rows of an import. Unless ``skip`` is set, ``check`` raises an error that lists the reasons."""

    skip: bool = False
    problems: list[Problem] = field(default_factory=list)
    """The rejected rows; if they are an error, only the first one."""
    num_blank: int = 0
    """Number of empty rows, which are left out and are not a problem."""
    num_rows: int = 0
    """Number of rows that were read, without empty ones."""
    reasons: dict[tuple[str, str], ReasonCount] = field(default_factory=dict)
    """Counts by column and kind of reason."""
    held: list[Problem] = field(default_factory=list)
    sources: "dict[str, Callable[[], Source]]" = field(default_factory=dict)
    """How to open each file again, to write its rejected rows with all their columns."""

    def hold(self, problems: list[Problem]) -> None:
        """Keep problems of whole rows until the values of the batch are checked: those may be in earlier rows."""
        self.num_rows += len(problems)
        self.held += problems

    def add(self, problems: list[Problem]) -> None:
        """Count the problems of one batch."""
        problems = sorted([*self.held, *problems])
        self.held = []
        for problem in problems:
            kind = problem.column, _kind(problem.reason)
            self.reasons.setdefault(kind, ReasonCount(problem)).count += 1
        self.problems += problems
        if not self.skip:
            del self.problems[1:]  # only the counts are needed, so memory does not grow with the number of bad rows

    def check(self) -> None:
        """Raise an error with all reasons if rows were rejected and are not to be skipped."""
        if not self.problems or self.skip:
            return
        lines = [str(self.problems[0])]
        if len(self) > 1:
            lines += [f"{self.share(len(self))} cannot be read:", *self.summary()]
        lines.append("(--bad-rows skip leaves such rows out and lists them in a file)")
        raise DataError("\n".join(lines))

    def summary(self, *, with_rows: bool = True) -> list[str]:
        """Return one line for each kind of reason, the most frequent first.

        Args:
            with_rows: Whether each line says in which row the reason occurred first.
        """
        ordered = sorted(self.reasons.values(), key=lambda reason: -reason.count)
        lines: list[str] = []
        for reason in ordered[:MAX_REASONS]:
            column = f"column {reason.first.column!r}: " if reason.first.column else ""
            file = f" of {reason.first.file}" if len(self.sources) > 1 else ""
            where = f" (first in row {reason.first.row}{file})" if with_rows else ""
            lines.append(f"  {self.share(reason.count)}: {column}{reason.first.reason}{where}")
        if hidden := ordered[MAX_REASONS:]:
            lines.append(f"  {self.share(sum(reason.count for reason in hidden))}: other reasons")
        return lines

    def share(self, count: int) -> str:
        """Return a number of rows with its share, such as "12 of 96 rows (12.5 %)"."""
        total = max(self.num_rows, count)
        return f"{count:,} of {counted(total, 'row')} ({count / total:.1%})".replace("%)", " %)")

    def __len__(self) -> int:
        return sum(reason.count for reason in self.reasons.values())

    def write(self, path: Path) -> None:
        """Write the rejected rows as CSV, with their columns and the reasons."""
        from titer.data.readers.rejected_rows import write_rejected

        write_rejected(path, self.problems, self.sources)


def wrong_width(actual: int, expected: int) -> str:
    """Return the reason for a row with too few or too many columns."""
    return f"{counted(actual, 'column')} instead of {expected}"


def _kind(reason: str) -> str:
    """Return a reason without the value that it is about, so that equal reasons are counted together."""
    return re.sub(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+", "…", reason)
