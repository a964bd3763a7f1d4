"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.errors import DataError

if TYPE_CHECKING:
    from titer.data.readers.tables import TableOptions

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, as left by titer train.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="TITER_STORE",
        show_envvar=False,
        help="Database of added facts, such as postgresql://USER@HOST/NAME (or TITER_STORE); by default RUN/facts.db.",
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda or auto.")]


# How a table of facts is read.
ColumnOption = Annotated[
    list[str] | None,
    typer.Option("--column", help="PART=COLUMN: which column is the subject, relation, object, time, start or end."),
]
NamesOption = Annotated[
    str | None, typer.Option("--names", help="Column names, with commas, for text files without a header row.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="What stands between two fields of a text file.")
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="Encoding of text files.")]
DateFormatOption = Annotated[
    str | None, typer.Option("--date-format", help="How dates are written if not as 2018-10-04, for example %d.%m.%Y.")
]


class BadRows(StrEnum):
    """What to do with rows that cannot be taken."""

    fail = "fail"
    skip = "skip"


BadRowsOption = Annotated[
    BadRows, typer.Option("--bad-rows", help="Stop at the first row that cannot be taken, or skip such rows.")
]


def table_options(column: list[str] | None, names: str | None, delimiter: str | None, **others: Any) -> "TableOptions":
    """What the options say about how to read a table."""
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
            raise DataError(f"--column wants PART=COLUMN, such as subject=Actor1, not {pair!r}")
        columns[part.strip()] = column.strip()
    return columns


class Split(StrEnum):
    """The splits that can be measured on."""

    valid = "valid"
    test = "test"
