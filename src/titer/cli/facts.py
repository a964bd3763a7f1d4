"""The commands ``titer facts``: add facts to a run, list, remove and export the added ones."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.import_data import report_rejections, report_skipped
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
    RawCsvOption,
    RunArgument,
    StoreOption,
    examples,
    table_options,
)
from titer.cli.screen import note, say, say_json, say_table
from titer.counted import counted
from titer.errors import RunError, TiterError
from titer.training.layout import CONFIG, DATASET, STORE

if TYPE_CHECKING:
    from titer.data.dataset import Dataset
    from titer.store.adding import AddedFile
    from titer.store.facts import FactStore
    from titer.store.named import Removed, StoredFact

app = typer.Typer(help="Add facts to a run without retraining.", no_args_is_help=True)

NAMES_SHOWN = 5
ROWS_SHOWN = 10
MAX_RANGE = 10_000_000
COLUMNS = ("subject", "relation", "object")


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
    allow_future: Annotated[
        bool, typer.Option("--allow-future", help="Accept facts after today or far after the last known time step.")
    ] = False,
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
    The next question is answered with them. Facts must not be earlier than the last known time step, nor after today or
    far after that step. They may have entities that are unseen in training, but no unknown relation. A known fact is
    not added twice. Nothing is stored unless every row is valid; facts are on disk when the command returns.
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
            allow_future=allow_future,
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
    journal: Annotated[bool, typer.Option("--journal", help="Also show all additions and removals.")] = False,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show how many facts were added to a run, and the last of them."""
    dataset, total, found, changes = _dataset(run), 0, [], []
    if store is not None or (run / STORE).exists():
        with _open(run, store) as facts:
            total, found = facts.num_facts, facts.last_added(last)
            changes = [change._asdict() for change in facts.journal()] if journal else []
    rows = [_row(fact, dataset) for fact in found]
    if json:
        say_json({"facts": total, "latest": rows} | ({"journal": changes} if journal else {}))
        return
    say(f"{run}: {counted(total, 'added fact')}")
    _show_rows(rows)
    if changes:
        say()
        titles = ["change", "at", "note", "facts", "first number", "last number"]
        names = ("kind", "at", "note", "num_facts", "first_sequence", "last_sequence")
        say_table(titles, [[str(change[name]) for name in names] for change in changes], numbers_from=3)


@app.command(
    "remove",
    epilog=examples(
        "titer facts remove runs/first 17 20-25", 'titer facts remove runs/first --after 2030-01-01 --note "wrong year"'
    ),
)
def remove(
    run: RunArgument,
    numbers: Annotated[
        list[str] | None,
        typer.Argument(metavar="NUMBER...", help="Numbers of facts, or ranges such as 20-25 (see titer facts list)."),
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="DATE", help="Remove all added facts after a date.")] = None,
    note_: Annotated[str, typer.Option("--note", help="Reason, for the journal of the store.")] = "",
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Remove added facts from a run. The next question is answered without them.

    Facts of the dataset are not changed. The store keeps a journal of all changes, and the removed facts.
    """
    if not numbers and after is None:
        raise TiterError("give the numbers of the facts to remove, or --after DATE")
    with _existing(run, store) as facts:
        wanted = _numbers(numbers or [])
        if after is not None:
            last = facts.dataset.axis.step(after)
            wanted |= {fact.sequence for fact in facts.since(0) if fact.fact.step > last}
        _report(facts.remove(wanted, note=note_), run, facts.dataset, json=json)


@app.command("undo", epilog=examples("titer facts undo runs/first"))
def undo(run: RunArgument, store: StoreOption = None, json: JsonOption = False) -> None:
    """Remove the facts of the last addition, such as those of a file."""
    with _existing(run, store) as facts:
        _report(facts.undo(), run, facts.dataset, json=json)


@app.command("export", epilog=examples("titer facts export runs/first added.csv"))
def export(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV file to write (.csv), or JSON lines (.jsonl).")],
    raw_csv: RawCsvOption = False,
    store: StoreOption = None,
) -> None:
    """Write all added facts to a file that titer facts add can read."""
    from titer.store.export import export_facts

    with _existing(run, store) as facts:
        count = export_facts(facts, file, raw_csv=raw_csv)
    say(f"{file}: {counted(count, 'fact')}")


def _numbers(words: list[str]) -> set[int]:
    numbers: set[int] = set()
    for word in words:
        first, dash, last = word.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise TiterError(f"{word!r} is not the number of a fact, nor a range such as 20-25")
        end = int(last) if dash else int(first)
        if end - int(first) > MAX_RANGE:
            raise TiterError(f"{word} has more than {MAX_RANGE:,} numbers; use --after DATE, or titer facts undo")
        numbers |= set(range(int(first), end + 1))
    return numbers


def _report(removed: "Removed", run: Path, dataset: "Dataset", *, json: bool) -> None:
    rows = [_row(fact, dataset) for fact in removed.facts]
    if json:
        say_json({"removed": len(rows), "facts": removed.num_left, "removed_facts": rows})
        return
    say(f"{run}: {counted(len(rows), 'fact')} removed, {removed.num_left:,} left")
    _show_rows(rows[:ROWS_SHOWN])


def _row(stored: "StoredFact", dataset: "Dataset") -> dict[str, Any]:
    sequence, fact, added_at = stored
    time = dataset.axis.label(fact.step)
    return {"sequence": sequence, **dict(zip(COLUMNS, fact[:3], strict=True)), "time": time, "added_at": added_at}


def _show_rows(rows: list[dict[str, Any]]) -> None:
    if rows:
        header = [*COLUMNS, "time", "added_at", "sequence"]
        titles = [*COLUMNS, "time", "added", "number"]
        say()
        say_table(titles, [[str(row[name]) for name in header] for row in rows], numbers_from=5)


def _existing(run: Path, address: str | None) -> "FactStore":
    if address is None and not (run / STORE).exists():
        _dataset(run)
        raise TiterError(f"{run} has no added facts")
    return _open(run, address)


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
        "added": added.added,
        "rows": result.num_rows,
        "facts_of_rows": result.num_facts,
        "open_ends": result.num_far_ends,
        "known": added.known,
        "backfilled": added.backfilled,
        "rejected": len(result.rejections),
        "rejected_file": str(result.rejected_file) if result.rejected_file else None,
        "new_entities": added.new_entities,
        "last_sequence": added.last_sequence,
    }


def _show(result: "AddedFile", run: Path) -> None:
    added = result.added
    report_skipped(result.num_blank, result.num_outside)
    report_rejections(result.rejections, result.rejected_file)
    say(f"{run}: {counted(added.added, 'fact')} added" + (f", {added.known:,} already known" * bool(added.known)))
    if result.num_facts > result.num_rows:
        rows, facts = counted(result.num_rows, "row"), counted(result.num_facts, "fact")
        say(f"{rows} became {facts}, one for each time step that they last")
    if result.num_far_ends:
        note(f"{result.num_far_ends:,} ends are far in the future and count as open")
    if added.backfilled:
        say(f"{added.backfilled:,} of them are before the last known time step")
    if added.new_entities:
        shown = ", ".join(added.new_entities[:NAMES_SHOWN]) + ", …" * (len(added.new_entities) > NAMES_SHOWN)
        say(f"entities unseen in training: {shown} ({len(added.new_entities):,})")
