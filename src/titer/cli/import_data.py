"""``titer data import``."""

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


class Unit(StrEnum):
    """The same as ``TimeUnit``, which is not imported just to show help."""

    hour = "hour"
    day = "day"
    week = "week"
    month = "month"
    year = "year"
    integer = "integer"


def import_data(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Tables of facts, or one folder in the benchmark format.")
    ],
    out: Annotated[Path, typer.Option(help="Where to put the dataset.")],
    name: Annotated[str | None, typer.Option(help="What to call it; by default like the folder.")] = None,
    column: ColumnOption = None,
    names: NamesOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    unit: Annotated[
        Unit | None, typer.Option(help="How long one step lasts; by default as precise as the first date.")
    ] = None,
    date_format: DateFormatOption = None,
    earliest: Annotated[
        str | None, typer.Option(help="First date to keep; an unknown start is taken to be there.")
    ] = None,
    latest: Annotated[str | None, typer.Option(help="Last date to keep; an unknown end is taken to be there.")] = None,
    split: Annotated[
        str, typer.Option(help="Shares of train, valid and test; cuts fall between two steps.")
    ] = "0.8,0.1,0.1",
    valid_from: Annotated[
        str | None, typer.Option(help="Date at which the valid split begins (with --test-from).")
    ] = None,
    test_from: Annotated[
        str | None, typer.Option(help="Date at which the test split begins (with --valid-from).")
    ] = None,
    bad_rows: BadRowsOption = BadRows.fail,
    rejected: Annotated[
        Path | None, typer.Option(help="Where to write skipped rows; by default OUT.rejected.csv.")
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Make a dataset out of files with dated facts.

    Reads CSV, TSV, Parquet, Feather and JSON lines with columns subject, relation, object and time, or start and
    end for facts that last. Dates may be partial (1926-##-##). Nothing is written unless everything could be read.
    """
    from titer.data.importing import SplitOptions, import_files
    from titer.data.time_axis import TimeUnit

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
    for count, what in ((imported.num_blank, "blank rows"), (imported.num_outside, "rows outside the wanted dates")):
        if count:
            note(f"{count:,} {what} were left out")
    if imported.rejected_file is not None:
        count = f"{len(imported.rejections):,} rows could not be read and were skipped"
        note(f"{count}; they are in {imported.rejected_file}, each with the reason")
    sizes = " / ".join(f"{len(facts):,}" for facts in imported.dataset.splits.values())
    say(f"{out}: {sizes} facts (train / valid / test), by the {imported.dataset.axis.unit}")


def _fractions(shares: str) -> tuple[float, float, float]:
    try:
        train, valid, test = (float(share) for share in shares.split(","))
    except ValueError:
        raise DataError(f"--split wants three shares, such as 0.8,0.1,0.1, not {shares!r}") from None
    return train, valid, test
