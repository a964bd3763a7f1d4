"""``titer facts``: add facts to a run, and look at those that were added."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.options import (
    BadRows,
    BadRowsOption,
    ColumnOption,
    DateFormatOption,
    DelimiterOption,
    EncodingOption,
    JsonOption,
    NamesOption,
    RunArgument,
    StoreOption,
    table_options,
)
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import RunError
from titer.training.layout import CONFIG, DATASET, STORE

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.store.adding import AddedFile
    from titer.store.facts import FactStore

app = typer.Typer(help="Add facts to a run without training again.", no_args_is_help=True)

NAMES_SHOWN = 5


@app.command("add")
def add(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A table of facts, as titer data import reads it.")],
    store: StoreOption = None,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Take facts before the last known step too; rebuilds the index.")
    ] = False,
    column: ColumnOption = None,
    names: NamesOption = None,
    delimiter: DelimiterOption = None,
    encoding: EncodingOption = "utf-8",
    date_format: DateFormatOption = None,
    earliest: Annotated[str | None, typer.Option(help="First date to keep; a fact that lasts is cut there.")] = None,
    latest: Annotated[str | None, typer.Option(help="Last date to keep; a fact that lasts is cut there.")] = None,
    bad_rows: BadRowsOption = BadRows.fail,
    rejected: Annotated[
        Path | None, typer.Option(help="Where to write skipped rows; by default FILE.rejected.csv.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Add dated facts to what a run knows; the next question is answered with them.

    Facts must not be earlier than the last known step. They may name entities that the run has never heard of, but no
    relation that it has not learned. A fact that is known already counts once. Nothing is stored unless every row can
    be taken; what is stored when the command returns stays stored.
    """
    from titer.store.adding import add_file

    options = table_options(
        column, names, delimiter, encoding=encoding, date_format=date_format, earliest=earliest, latest=latest
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
    last: Annotated[int, typer.Option(min=0, help="How many of the latest to show.")] = 10,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show how many facts were added to a run, and the latest of them."""
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
    say(f"{run}: {total:,} {'fact was' if total == 1 else 'facts were'} added")
    if rows:
        header = ["subject", "relation", "object", "time", "added_at"]
        say()
        say_table([*header[:-1], "added"], [[str(row[name]) for name in header] for row in rows], numbers_from=5)


def _dataset(run: Path) -> "Dataset":
    """The run's facts, without loading its model (and torch)."""
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
    for count, what in ((result.num_blank, "blank rows"), (result.num_outside, "rows outside the wanted dates")):
        if count:
            note(f"{count:,} {what} were left out")
    if result.rejected_file is not None:
        count = f"{len(result.rejections):,} rows could not be taken and were skipped"
        note(f"{count}; they are in {result.rejected_file}, each with the reason")
    what = "fact" if added.num_added == 1 else "facts"
    say(f"{run}: {added.num_added:,} {what} added" + (f", {added.num_known:,} known before" * bool(added.num_known)))
    if added.num_backfilled:
        say(f"{added.num_backfilled:,} of them are earlier than what was known")
    if added.untrained:
        shown = ", ".join(added.untrained[:NAMES_SHOWN]) + ", …" * (len(added.untrained) > NAMES_SHOWN)
        say(f"entities that the model was not trained on: {shown} ({len(added.untrained):,})")
