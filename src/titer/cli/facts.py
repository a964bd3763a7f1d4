"""The commands ``titer facts``: add facts to a run, and list the added ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.import_data import report_rejections
from titer.cli.options import (
    BadRows,
    BadRowsOption,
    ColumnOption,
    ConstantOption,
    DateFormatOption,
    DelimiterOption,
    EncodingOption,
    JsonOption,
    MissingOption,
    NamesOption,
    RunArgument,
    StoreOption,
    examples,
    table_options,
)
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import RunError
from titer.training.layout import CONFIG, DATASET, STORE

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.store.adding import AddedFile
    from titer.store.facts import FactStore

app = typer.Typer(help="Add facts to a run without retraining.", no_args_is_help=True)

NAMES_SHOWN = 5


@app.command(
    "add", epilog=examples("titer facts add runs/first new.csv", "titer facts add runs/first old.csv --backfill")
)
def add(
    run: RunArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Table of facts in a format that titer data import reads.")
    ],
    store: StoreOption = None,
    backfill: Annotated[bool, typer.Option("--backfill", help="Accept facts before the last known time step.")] = False,
    column: ColumnOption = None,
    constant: ConstantOption = None,
    names: NamesOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = None,
    date_format: DateFormatOption = None,
    missing: MissingOption = None,
    earliest: Annotated[
        str | None, typer.Option(metavar="DATE", help="First date to keep; earlier parts of intervals are dropped.")
    ] = None,
    latest: Annotated[
        str | None, typer.Option(metavar="DATE", help="Last date to keep; later parts of intervals are dropped.")
    ] = None,
    bad_rows: BadRowsOption = BadRows.fail,
    rejected: Annotated[
        Path | None, typer.Option(help="File for skipped rows and the reasons (default: FILE.rejected.csv).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Add dated facts to the history of a run.

    The file is read as the dataset was imported, with the same columns and date format, unless options say otherwise.
    The next question is answered with them. Facts must not be earlier than the last known time step. They may have
    entities that are unseen in training, but no unknown relation. A known fact is not added twice. Nothing is stored
    unless every row is valid; facts are on disk when the command returns.
    """
    from titer.store.adding import add_file

    options = table_options(
        column,
        names,
        delimiter,
        constant=constant,
        missing=missing,
        encoding=encoding,
        date_format=date_format,
        earliest=earliest,
        latest=latest,
    )
    with _open(run, store) as facts:
        result = add_file(
            facts,
            file,
            options=options,
            backfill=backfill,
            skip_bad_rows=bad_rows is BadRows.skip,
            rejected_file=rejected,
        )
    if json:
        say_json(_as_dict(result))
    else:
        _show(result, run)


@app.command("list")
def list_facts(
    run: RunArgument,
    last: Annotated[int, typer.Option(min=0, help="Number of facts to show, those added last.")] = 10,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show how many facts were added to a run, and the last of them."""
    dataset, total, found = _dataset(run), 0, []
    if store is not None or (run / STORE).exists():
        with _open(run, store) as facts:
            total, found = facts.last_sequence, facts.last_added(last)
    rows = [
        {"sequence": sequence, **fact._asdict(), "time": dataset.axis.label(fact.step), "added_at": added_at}
        for sequence, fact, added_at in found
    ]
    if json:
        say_json({"facts": total, "latest": [{k: v for k, v in row.items() if k != "step"} for row in rows]})
        return
    say(f"{run}: {total:,} added {'fact' if total == 1 else 'facts'}")
    if rows:
        header = ["subject", "relation", "object", "time", "added_at"]
        say()
        say_table([*header[:-1], "added"], [[str(row[name]) for name in header] for row in rows], numbers_from=5)


def _dataset(run: Path) -> "Dataset":
    """Return the dataset of a run without loading its model and torch."""
    from titer.data.dataset_folder import open_dataset

    if not (run / CONFIG).is_file():
        raise RunError(f"{run} is not a run directory: it has no {CONFIG}")
    return open_dataset(run / DATASET)


def _open(run: Path, address: str | None) -> "FactStore":
    from titer.store.facts import FactStore

    return FactStore(address if address is not None else run / STORE, _dataset(run))


def _as_dict(result: "AddedFile") -> dict[str, Any]:
    added = result.added
    return {
        "added": added.num_added,
        "known": added.num_known,
        "backfilled": added.num_backfilled,
        "rejected": len(result.rejections),
        "rejected_file": str(result.rejected_file) if result.rejected_file else None,
        "untrained_entities": added.untrained,
        "last_sequence": added.last_sequence,
    }


def _show(result: "AddedFile", run: Path) -> None:
    added = result.added
    for count, what in ((result.num_blank, "blank rows"), (result.num_outside, "rows outside the given dates")):
        if count:
            note(f"skipped {count:,} {what}")
    report_rejections(result.rejections, result.rejected_file)
    what = "fact" if added.num_added == 1 else "facts"
    say(f"{run}: {added.num_added:,} {what} added" + (f", {added.num_known:,} already known" * bool(added.num_known)))
    if added.num_backfilled:
        say(f"{added.num_backfilled:,} of them are before the last known time step")
    if added.untrained:
        shown = ", ".join(added.untrained[:NAMES_SHOWN]) + ", …" * (len(added.untrained) > NAMES_SHOWN)
        say(f"entities unseen in training: {shown} ({len(added.untrained):,})")
