"""Files of rejected rows: the columns of the original file and the reason, to be repaired and imported again."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from titer.data.readers.base import Source
from titer.data.readers.rejections import Problem, Rejections

REASONS = ["rejected_file", "rejected_row", "rejected_column", "rejected_reason"]
"""The columns after those of the original file."""
MAX_HEADER = 1 << 16


def write_rejected(path: Path, problems: Sequence[Problem], sources: Mapping[str, Callable[[], Source]]) -> None:
    """Write rejected rows as CSV in UTF-8, whatever the format of the original file.

    Args:
        path: The file to write.
        problems: The rejected rows.
        sources: How to open each file again. Rows of other files have only their text.
    """
    by_file: dict[str, dict[int, Problem]] = defaultdict(dict)
    for problem in sorted(problems):
        by_file[problem.file].setdefault(problem.row, problem)
    opened = {name: sources[name]() for name in by_file if name in sources}
    columns = list(dict.fromkeys(name for source in opened.values() for name in original_columns(source)))
    columns = columns or ["text"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *REASONS], restval="")
        writer.writeheader()
        for name, by_row in by_file.items():
            source = opened.get(name)
            for problem, values in (
                _rows(source, by_row) if source else ((p, {"text": p.text}) for p in by_row.values())
            ):
                reason = (problem.file, problem.row, problem.column, problem.reason)
                writer.writerow({**values, **dict(zip(REASONS, reason, strict=True))})


def original_columns(source: Source) -> list[str]:
    """Return the columns of a table, without the reasons if it is itself a file of rejected rows."""
    return [name for name in source.columns() if name not in REASONS]


def has_rejected_rows(path: Path) -> bool:
    """Return whether a file has rejected rows; it is then UTF-8 with commas and a header row."""
    with path.open("rb") as file:
        return file.readline(MAX_HEADER).strip().endswith(",".join(REASONS).encode())


def _rows(source: Source, wanted: dict[int, Problem]) -> Iterator[tuple[Problem, dict[str, str]]]:
    """Read a file again, and yield its rejected rows in order."""
    source.keeps_all = True
    columns = original_columns(source)
    numbers = np.array(sorted(wanted), dtype=np.int64)
    place = 0
    for batch in source.batches(columns, Rejections(skip=True)):
        for position in np.flatnonzero(np.isin(batch.rows, numbers)):
            row = int(batch.rows[position])
            while numbers[place] < row:  # rows that could not be split into columns
                yield _unsplit(source, wanted[int(numbers[place])], columns)
                place += 1
            yield wanted[row], {name: batch.value(name, int(position)) for name in columns}
            place += 1
    for number in numbers[place:].tolist():
        yield _unsplit(source, wanted[number], columns)


def _unsplit(source: Source, problem: Problem, columns: list[str]) -> tuple[Problem, dict[str, str]]:
    """Return a row with too few or too many fields: the last column gets all fields that are left over."""
    fields = source.split(problem.text)
    if len(fields) > len(columns):
        fields = [*fields[: len(columns) - 1], source.delimiter.join(fields[len(columns) - 1 :])]
    return problem, dict(zip(columns, fields, strict=False))
