"""Find what each part of a fact is made of in a table."""

from dataclasses import dataclass, replace

from titer.data.readers.base import Source
from titer.data.readers.expression import Expression, find_column
from titer.data.readers.options import INTERVAL, NAMES, POINT, TableOptions
from titer.errors import DataError

ATTRIBUTE = "attribute "
"""What the keys of attributes begin with, beside the parts of a fact."""


class MissingColumnsError(DataError):
    """A table lacks columns for parts of a fact."""


@dataclass(frozen=True)
class PartColumns:
    """What the parts of a fact and the attributes of a table are made of."""

    expressions: dict[str, Expression]
    """The expression of each part, then of each attribute."""
    timed: tuple[str, ...]
    """The parts with the time: ``time``, or ``start`` and ``end`` for facts that last."""
    options: TableOptions
    """The options with the column of every part."""

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys(name for each in self.expressions.values() for name in each.columns))


def find_parts(source: Source, options: TableOptions) -> PartColumns:
    """Return what the parts of a fact are made of.

    Raises:
        MissingColumnsError: If the table lacks columns; all of them are named.
    """
    present = source.columns()
    by_folded = {name.casefold(): name for name in reversed(present)}
    timed = _timed(options, by_folded)
    parts = (*NAMES, *timed, *(["weight"] if "weight" in {*options.columns, *options.constants} else []))
    texts = {part: options.columns.get(part, by_folded.get(part)) for part in parts if part not in options.constants}
    found = {part: Expression.constant(value) for part, value in options.constants.items() if part in parts}
    faults: list[str] = []
    for part, text in texts.items():
        try:
            found[part] = Expression.parse(text if text is not None else part, present)
        except DataError as error:
            faults.append(f"{error}" + " (or 'start' and 'end')" * (part in POINT))
    for name in options.attributes:
        column = find_column(name, present)
        if column is None:
            faults.append(f"no column {name!r}")
        else:
            found[f"{ATTRIBUTE}{name}"] = Expression.parse(column, present)
    if faults:
        part = next((part for part in parts if part not in found), "subject")
        raise MissingColumnsError(
            f"{source.name}, row 1: {', '.join(faults)}; the file has {', '.join(present)}\n"
            f"(--column {part}=NAME sets the column, --constant {part}=WORD a value for all rows; "
            "--names is for files without a header row)"
        )
    ordered = {key: found[key] for key in (*parts, *(f"{ATTRIBUTE}{name}" for name in options.attributes))}
    columns = {part: text for part, text in texts.items() if text is not None}
    return PartColumns(ordered, timed, replace(options, columns=columns))


def _timed(options: TableOptions, by_folded: dict[str, str]) -> tuple[str, ...]:
    """Return whether facts have a time or last: given columns decide, then those with the usual names."""
    given = {*options.columns, *options.constants}
    if "time" in given or ("time" in by_folded and not set(INTERVAL) <= given):
        return POINT
    return INTERVAL if set(INTERVAL) & {*given, *by_folded} else POINT
