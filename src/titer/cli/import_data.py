"""The command ``titer data import``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from titer.cli.options import (
    BadRows,
    BadRowsOption,
    ColumnOption,
    DateFormatOption,
    DelimiterOption,
    EncodingOption,
    NamesOption,
    OverwriteOption,
    table_options,
)
from titer.cli.screen import note, say
from titer.errors import DataError

EXAMPLES = (
    "titer data import events.csv --out data/events",
    "titer data import events.tsv --out data/events --column subject=Actor1 --column time=Date",
    "titer data import spans.parquet --out data/spans --unit year --split 0.7,0.1,0.2",
)


class Unit(StrEnum):
    """The members of ``TimeUnit``, repeated here because its module is slow to import for a help text."""

    hour = "hour"
    day = "day"
    week = "week"
    month = "month"
    year = "year"
    integer = "integer"


def import_data(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Tables of facts, or one folder in the benchmark format."),
    ],
    out: Annotated[Path, typer.Option(help="Dataset folder to write.")],
    name: Annotated[str | None, typer.Option(help="Name of the dataset (default: that of the folder).")] = None,
    column: ColumnOption = None,
    names: NamesOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    unit: Annotated[
        Unit | None, typer.Option(help="Length of a time step (default: the precision of the first date).")
    ] = None,
    date_format: DateFormatOption = None,
    earliest: Annotated[
        str | None, typer.Option(metavar="DATE", help="First date to keep, and start of intervals with an open start.")
    ] = None,
    latest: Annotated[
        str | None, typer.Option(metavar="DATE", help="Last date to keep, and end of intervals with an open end.")
    ] = None,
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
) -> None:
    """Import tables of dated facts as a dataset.

    Reads CSV, TSV, Parquet, Feather and JSON lines with the columns subject, relation, object and time, or start and
    end for facts that hold over an interval. Partial dates (1926-##-##) and open-ended intervals are accepted. Nothing
    is written unless all files can be read.
    """
    from titer.data.importing import SplitOptions, import_files
    from titer.data.time_unit import TimeUnit

    imported = import_files(
        files,
        out,
        name=name,
        options=table_options(
            column,
            names,
            delimiter,
            encoding=encoding,
            unit=TimeUnit(unit) if unit else None,
            date_format=date_format,
            earliest=earliest,
            latest=latest,
        ),
        splits=SplitOptions(_fractions(split), valid_from, test_from),
        skip_bad_rows=bad_rows is BadRows.skip,
        rejected_file=rejected,
        overwrite=overwrite,
    )
    for count, what in ((imported.num_blank, "blank rows"), (imported.num_outside, "rows outside the given dates")):
        if count:
            note(f"skipped {count:,} {what}")
    if imported.rejected_file is not None:
        note(f"skipped {len(imported.rejections):,} invalid rows, written with the reasons to {imported.rejected_file}")
    sizes = " / ".join(f"{len(facts):,}" for facts in imported.dataset.splits.values())
    say(f"{out}: {sizes} facts (train / valid / test), time unit: {imported.dataset.axis.unit}")


def _fractions(shares: str) -> tuple[float, float, float]:
    try:
        train, valid, test = (float(share) for share in shares.split(","))
    except ValueError:
        raise DataError(f"--split must be three shares, such as 0.8,0.1,0.1, not {shares!r}") from None
    return train, valid, test
