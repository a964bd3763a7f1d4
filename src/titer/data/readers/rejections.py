"""Rows that cannot be read: stop at the first one, or skip and count them."""

import csv
from dataclasses import dataclass, field
from pathlib import Path

from titer.errors import DataError


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
class Rejections:
    """The rejected rows of an import. Unless ``skip`` is set, the first one raises an error."""

    skip: bool = False
    problems: list[Problem] = field(default_factory=list)
    num_blank: int = 0
    """Number of empty rows, which are left out and are not a problem."""
    held: list[Problem] = field(default_factory=list)

    def hold(self, problems: list[Problem]) -> None:
        """Keep problems until the values of the same batch are checked: those may be in earlier rows."""
        self.held += problems

    def add(self, problems: list[Problem]) -> None:
        """Add the problems of one batch, and raise the one of the earliest row unless bad rows are skipped."""
        problems = sorted([*self.held, *problems])
        self.held = []
        if problems and not self.skip:
            raise DataError(f"{problems[0]}\n(--bad-rows skip leaves such rows out and lists them in a file)")
        self.problems += problems

    def __len__(self) -> int:
        return len(self.problems)

    def write(self, path: Path) -> None:
        """Write the rejected rows, each with its reason, as CSV."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["file", "row", "column", "reason", "text"])
            writer.writerows((p.file, p.row, p.column, p.reason, p.text) for p in sorted(self.problems))


def wrong_width(actual: int, expected: int) -> str:
    """Return the reason for a row with too few or too many columns."""
    return f"{actual} column{'' if actual == 1 else 's'} instead of {expected}"
