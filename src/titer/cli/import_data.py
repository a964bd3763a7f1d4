"""The command ``titer data import``."""

import re
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titer.cli.options import (
    BadRows,
    BadRowsOption,
    ColumnOption,
    ConstantOption,
    DateFormatOption,
    DelimiterOption,
    EncodingOption,
    MergeNamesOption,
    MissingOption,
    NamesOption,
    OverwriteOption,
    PivotYearOption,
    table_options,
)
from titer.cli.screen import note, say
from titer.counted import counted
from titer.errors import DataError

if TYPE_CHECKING:
    from titer.data.detection.proposal import ProposalError
    from titer.data.import_files import Imported
    from titer.data.readers.merging import MergedName
    from titer.data.readers.rejections import Rejections

EXAMPLES = (
    "titer data import events.csv",
    "titer data import events.tsv --out data/events --column subject=Actor1 --column time=Date",
    "titer data import deals.csv --out data/deals --constant relation=acquired",
    "titer data import acled.csv --out data/acled --column 'object=ACTOR2|COUNTRY' --bad-rows skip",
    "titer data import 20150218.export.CSV.zip --out data/gdelt --format gdelt --bad-rows skip",
    "titer data import sqlite:///crm.db --query 'SELECT * FROM visits' --out data/visits --yes",
    "titer data import spans.parquet --out data/spans --unit year --split 0.7,0.1,0.2",
)
MUCH = 0.1
"""Share of rows whose loss is worth a warning."""
NAMES_SHOWN = 5


class Unit(StrEnum):
    """The members of ``TimeUnit``, repeated here because its module is slow to import for a help text."""

    hour = "hour"
    day = "day"
    week = "week"
    month = "month"
    quarter = "quarter"
    year = "year"
    integer = "integer"


class Format(StrEnum):
    """The names of ``FORMATS``, repeated here for the same reason."""

    gdelt = "gdelt"
    icews = "icews"
    polecat = "polecat"
    acled = "acled"
    wikidata = "wikidata"
    tgb = "tgb"
    graphiti = "graphiti"
    neo4j = "neo4j"


def import_data(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Tables of facts, folders, patterns or .zip archives of them, http or https addresses, - for standard "
            "input, or one folder in the benchmark format.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Dataset folder to write (default: data/NAME, named like the first file).")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the dataset (default: that of the folder).")] = None,
    column: ColumnOption = None,
    constant: ConstantOption = None,
    format: Annotated[
        Format | None, typer.Option(help="Source of the files, which says where the parts of a fact are.")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="SQL", help="Query to read from a database; FILE is its URL, such as sqlite:///my.db."),
    ] = None,
    names: NamesOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    unit: Annotated[
        Unit | None, typer.Option(help="Length of a time step (default: the precision of the first date).")
    ] = None,
    date_format: DateFormatOption = None,
    pivot_year: PivotYearOption = None,
    earliest: Annotated[
        str | None, typer.Option(metavar="DATE", help="First date to keep, and start of intervals with an open start.")
    ] = None,
    latest: Annotated[
        str | None, typer.Option(metavar="DATE", help="Last date to keep, and end of intervals with an open end.")
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="COLUMN", help="Column to keep and show with the evidence. Repeatable."),
    ] = None,
    phrase: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RELATION=PHRASE",
            help="How evidence is worded: 'Riot=rioted against', or 'Hire=hired {} as a clerk', with {} for the "
            "object. Repeatable.",
        ),
    ] = None,
    missing: MissingOption = None,
    merge_names: MergeNamesOption = False,
    split: Annotated[
        str,
        typer.Option(
            metavar="SHARES",
            help="Shares of the training, validation and test split. No time step is divided between two splits.",
        ),
    ] = "0.8,0.1,0.1",
    valid_from: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="First date of the validation split; needs --test-from, replaces --split."),
    ] = None,
    test_from: Annotated[
        str | None, typer.Option(metavar="DATE", help="First date of the test split; needs --valid-from.")
    ] = None,
    bad_rows: BadRowsOption = BadRows.fail,
    rejected: Annotated[
        Path | None, typer.Option(help="File for skipped rows and the reasons (default: OUT.rejected.csv).")
    ] = None,
    overwrite: OverwriteOption = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept what was detected, and dates that look wrong, without asking.")
    ] = False,
) -> None:
    """Import tables of dated facts as a dataset.

    Reads CSV, TSV, Parquet, Feather, JSON lines and Excel with the columns subject, relation, object and time, or start
    and end for facts that hold over an interval. If a file has other columns, another delimiter, encoding or date
    format, the command shows what it understood and asks, or stops if there is no terminal. Partial dates (1926-##-##)
    and open-ended intervals are accepted. Nothing is written unless all files can be read.
    """
    from titer.data.detection.proposal import ProposalError
    from titer.data.import_files import SplitOptions, import_files
    from titer.data.readers.inputs import default_name
    from titer.data.readers.options import TableOptions
    from titer.data.time_unit import TimeUnit

    out = out or Path("data") / (name or default_name(files))
    splits = SplitOptions(_fractions(split), valid_from, test_from)

    def run(options: TableOptions, accept: bool) -> "Imported":
        return import_files(
            files,
            out,
            name=name,
            options=options,
            splits=splits,
            skip_bad_rows=bad_rows is BadRows.skip,
            rejected_file=rejected,
            overwrite=overwrite,
            accept=accept,
            query=query,
        )

    options = table_options(
        column,
        names,
        delimiter,
        constant=constant,
        format=str(format) if format else None,
        missing=missing,
        phrase=phrase,
        encoding=encoding,
        unit=TimeUnit(unit) if unit else None,
        date_format=date_format,
        pivot_year=pivot_year,
        earliest=earliest,
        latest=latest,
        merge_names=merge_names,
        attributes=attribute or [],
    )
    others: dict[str, str | Path | None] = {
        "--out": out,
        "--name": name,
        "--query": query,
        "--split": split if split != "0.8,0.1,0.1" else None,
        "--valid-from": valid_from,
        "--test-from": test_from,
        "--bad-rows": bad_rows if bad_rows is not BadRows.fail else None,
        "--rejected": rejected,
    }
    try:
        imported = run(options, yes)
    except ProposalError as error:
        words = [word for option, value in others.items() if value is not None for word in (option, str(value))]
        shown = [re.sub(r"(://[^:/@]+):[^@]+@", r"\1:***@", file) for file in files]  # no passwords
        command = ["titer", "data", "import", *shown, *words, *error.proposal.options.words()]
        _confirm(error, shlex.join([*command, *(["--overwrite"] if overwrite else [])]))
        imported = run(error.proposal.options, yes)
    _report(imported)
    sizes = " / ".join(f"{len(facts):,}" for facts in imported.dataset.splits.values())
    say(f"{out}: {sizes} facts (train / valid / test), time unit: {imported.dataset.axis.unit}")


def _confirm(error: "ProposalError", command: str) -> None:
    """Show what was understood, and ask whether to go on; without a terminal, stop."""
    understood = error.proposal.describe()
    text = f"{error.cause}\n\nThis was understood instead:\n{understood}\n\nThe complete command:\n  {command}"
    if not sys.stdin.isatty():
        raise DataError(f"{text}\n\nRun this command, or add --yes to accept what was detected.")
    note(text)
    if not typer.confirm("Import the file like this?", default=True, err=True):
        raise DataError("nothing was imported; change the command above to read the file in another way")


def _report(imported: "Imported") -> None:
    """Say which rows are not in the dataset, and what may be wrong with it."""
    report_skipped(imported.num_blank, imported.num_outside)
    report_rejections(imported.rejections, imported.rejected_file)
    report_merged(imported.merged)
    for warning in imported.warnings:
        note(f"warning: {warning}")


def report_skipped(num_blank: int, num_outside: int) -> None:
    """Say how many rows had no fact to read."""
    if num_blank:
        note(f"skipped {counted(num_blank, 'blank row')}")
    if num_outside:
        note(f"skipped {counted(num_outside, 'row')} outside the given dates")


def report_rejections(rejections: "Rejections", file: Path | None) -> None:
    """Say how many rows were rejected and why, and warn if they are many."""
    if file is None:
        return
    note(f"skipped {counted(len(rejections), 'invalid row')}, written with the reasons to {file}")
    for line in rejections.summary():
        note(line)
    if len(rejections) > MUCH * rejections.num_rows:
        share = len(rejections) / max(rejections.num_rows, 1)
        note(f"warning: {share:.0%} of the rows are left out".replace("%", " %"))


def report_merged(merged: "list[MergedName]") -> None:
    """Say which names were joined."""
    if merged:
        shown = "; ".join(map(str, merged[:NAMES_SHOWN])) + "; …" * (len(merged) > NAMES_SHOWN)
        note(f"merged the spellings of {counted(len(merged), 'name')}: {shown}")


def _fractions(shares: str) -> tuple[float, float, float]:
    try:
        train, valid, test = (float(share) for share in shares.split(","))
    except ValueError:
        raise DataError(f"--split must be three shares, such as 0.8,0.1,0.1, not {shares!r}") from None
    if 99.99 < train + valid + test < 100.01:  # percentages
        train, valid, test = train / 100, valid / 100, test / 100
    return train, valid, test
