"""Arguments and options that several commands share."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.errors import DataError

if TYPE_CHECKING:
    from titer.data.readers.options import TableOptions

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, written by titer train.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
RawCsvOption = Annotated[
    bool,
    typer.Option(
        "--raw-csv", help="Write names to CSV as they are, also those that a spreadsheet would run as formulas."
    ),
]
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
WorkersOption = Annotated[
    int,
    typer.Option("--workers", min=1, help="Processes on this machine that share the work, such as one for each GPU."),
]
DeviceOption = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:N, or auto, which uses a GPU if there is one.")
]


def _set_threads(threads: int | None) -> int | None:
    # Read by titer.threads when a model is trained or loaded, and by the processes that this one starts.
    if threads is not None:
        os.environ["TITER_THREADS"] = str(threads)
    return threads


ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        envvar="TITER_THREADS",
        show_envvar=False,
        callback=_set_threads,
        help="CPU threads (default: $TITER_THREADS, or one, and more for many entities if cores are idle).",
    ),
]

# Options that describe a table of facts.
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="PART=COLUMN",
        help="Column with the subject, relation, object, time, start, end or weight, such as subject=Actor1. A+B "
        "joins two columns, A|B uses B where A is empty. Repeatable.",
    ),
]
ConstantOption = Annotated[
    list[str] | None,
    typer.Option(
        "--constant",
        metavar="PART=VALUE",
        help="A part of the facts that is the same in all rows, such as relation=acquired. Repeatable.",
    ),
]
MissingOption = Annotated[
    str | None,
    typer.Option("--missing", metavar="WORDS", help="Comma-separated words that mean no value, such as NA,null."),
]
MergeNamesOption = Annotated[
    bool, typer.Option("--merge-names", help="Join names that differ only in capitalisation and spaces.")
]
PivotYearOption = Annotated[
    int | None,
    typer.Option("--pivot-year", metavar="YEAR", help="Latest year that a two-digit year can mean (default: 2068)."),
]
NamesOption = Annotated[
    str | None, typer.Option("--names", help="Comma-separated column names of text files without a header row.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="Field separator of text files (default: by file extension).")
]
EncodingOption = Annotated[str | None, typer.Option("--encoding", help="Encoding of text files (default: UTF-8).")]
DateFormatOption = Annotated[
    str | None,
    typer.Option(
        "--date-format",
        help="Format of dates that are not written like 2018-10-04, such as %d.%m.%Y, unix or unix_ms.",
    ),
]


class BadRows(StrEnum):
    """What to do with invalid rows."""

    fail = "fail"
    skip = "skip"


BadRowsOption = Annotated[
    BadRows,
    typer.Option("--bad-rows", help="Fail if any row is invalid, or skip invalid rows and write them to a file."),
]


def table_options(
    column: list[str] | None,
    names: str | None,
    delimiter: str | None,
    *,
    constant: list[str] | None = None,
    missing: str | None = None,
    phrase: list[str] | None = None,
    **others: Any,
) -> "TableOptions":
    """Return the options of the table reader for the given command-line options."""
    from titer.data.readers.options import TableOptions

    return TableOptions(
        columns=_pairs("--column", "PART=COLUMN, such as subject=Actor1", column),
        constants=_pairs("--constant", "PART=VALUE, such as relation=acquired", constant),
        names=_words(names) if names else None,
        delimiter=delimiter.replace("\\t", "\t") if delimiter else None,
        missing=_words(missing) if missing else [],
        phrases=_pairs("--phrase", "RELATION=PHRASE, such as acquire=acquired", phrase),
        **others,
    )


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _pairs(option: str, form: str, pairs: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs or []:
        part, equals, value = pair.partition("=")
        if not equals:
            raise DataError(f"{option} must be {form}, not {pair!r}")
        found[part.strip()] = value.strip()
    return found


class Split(StrEnum):
    """The splits on which a model can be evaluated."""

    valid = "valid"
    test = "test"


def examples(*lines: str) -> str | None:
    """Return the end of a help text that shows commands to copy."""
    # The backspace character keeps click from wrapping the lines into a paragraph.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None


def given_options(context: typer.Context, *allowed: str) -> list[str]:
    """Return the options that the user gave, such as ``--out``, apart from some parameters.

    Args:
        context: The context of the command.
        *allowed: Names of parameters to leave out.
    """
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name not in allowed
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "COMMANDLINE"
    ]
