"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.errors import DataError

if TYPE_CHECKING:
    from titer.data.readers.tables import TableOptions

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, written by titer train.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="TITER_STORE",
        show_envvar=False,
        help="Database of added facts, such as postgresql://USER@HOST/NAME (default: $TITER_STORE or RUN/facts.db).",
    ),
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:N, or auto, which uses a GPU if there is one.")
]


# Options that describe a table of facts.
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="PART=COLUMN",
        help="Column with the subject, relation, object, time, start or end, such as subject=Actor1. Repeatable.",
    ),
]
NamesOption = Annotated[
    str | None, typer.Option("--names", help="Comma-separated column names of text files without a header row.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="Field separator of text files (default: by file extension).")
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="Encoding of text files.")]
DateFormatOption = Annotated[
    str | None,
    typer.Option("--date-format", help="Format of dates that are not written like 2018-10-04, such as %d.%m.%Y."),
]


class BadRows(StrEnum):
    """What to do with invalid rows."""

    fail = "fail"
    skip = "skip"


BadRowsOption = Annotated[
    BadRows,
    typer.Option("--bad-rows", help="Fail if any row is invalid, or skip invalid rows and write them to a file."),
]


def table_options(column: list[str] | None, names: str | None, delimiter: str | None, **others: Any) -> "TableOptions":
    """Return the options of the table reader for the given command-line options."""
    from titer.data.readers.tables import TableOptions

    return TableOptions(
        columns=_column_map(column or []),
        names=[part.strip() for part in names.split(",")] if names else None,
        delimiter=delimiter.replace("\\t", "\t") if delimiter else None,
        **others,
    )


def _column_map(pairs: list[str]) -> dict[str, str]:
    columns = {}
    for pair in pairs:
        part, equals, column = pair.partition("=")
        if not equals:
            raise DataError(f"--column must be PART=COLUMN, such as subject=Actor1, not {pair!r}")
        columns[part.strip()] = column.strip()
    return columns


class Split(StrEnum):
    """The splits on which a model can be evaluated."""

    valid = "valid"
    test = "test"


def examples(*lines: str) -> str | None:
    """Return the end of a help text that shows commands to copy."""
    # The backspace character keeps click from wrapping the lines into a paragraph.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None
