"""Rows that cannot be read: stop at the first, or set them aside and count them."""

import csv
from dataclasses import dataclass, field
from pathlib import Path

from titer.errors import DataError


@dataclass(frozen=True, order=True)
class Problem:
    """Why one row of one file cannot be used."""

    file: str
    row: int
    column: str
    reason: str
    text: str = ""

    def __str__(self) -> str:
        column = f", column {self.column!r}" if self.column else ""
        return f"{self.file}, row {self.row}{column}: {self.reason}"


@dataclass
class Rejections:
    """Collects problems. Unless ``skip`` is set, the first one ends the reading."""

    skip: bool = False
    problems: list[Problem] = field(default_factory=list)
    num_blank: int = 0
    """Rows with nothing in them; they are no problem, but they are counted."""
    held: list[Problem] = field(default_factory=list)

    def hold(self, problems: list[Problem]) -> None:
        """Keep problems until those with the values of the same batch are known, which may be in earlier rows."""
        self.held += problems

    def add(self, problems: list[Problem]) -> None:
        """Take the problems of one batch; raises for the earliest row unless bad rows are skipped."""
        problems = sorted([*self.held, *problems])
        self.held = []
        if problems and not self.skip:
            raise DataError(f"{problems[0]}\n(--bad-rows skip sets such rows aside and goes on)")
        self.problems += problems

    def __len__(self) -> int:
        return len(self.problems)

    def write(self, path: Path) -> None:
        """Write the rejected rows, with the reason for each, as CSV."""
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["file", "row", "column", "reason", "text"])
            writer.writerows((p.file, p.row, p.column, p.reason, p.text) for p in sorted(self.problems))
