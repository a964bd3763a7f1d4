"""Add facts from files and from objects in memory, with the checks of an import."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.remembered import continued
from titer.data.readers.tables import MissingColumnsError, Table, TableOptions, read_records, read_tables
from titer.errors import DataError
from titer.files import atomic_path
from titer.store.facts import Added, FactStore, NamedFact, RefusedFactsError

MAX_ADDED = 1_000_000
"""Number of facts that intervals of one file may become."""


@dataclass(frozen=True)
class AddedFile:
    """The result of adding the facts of a file."""

    added: Added
    """What was stored."""
    num_blank: int
    """Number of blank rows."""
    num_outside: int
    """Number of rows outside the range of dates."""
    rejections: Rejections
    """The rows that were not added, with the reasons."""
    rejected_file: Path | None
    """Where the rejected rows were written; None if there were none."""
    num_rows: int
    """Number of rows that were read."""
    num_facts: int
    """Number of facts that they became: a row that lasts has one for each time step."""
    num_far_ends: int
    """Number of ends so far in the future that they count as open."""


class BadFactsError(DataError):
    """Facts that cannot be added. None of the facts given with them was stored either.

    Attributes:
        problems: What is wrong, by row.
    """

    def __init__(self, problems: list[Problem]):
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def add_file(
    store: FactStore,
    path: Path,
    *,
    options: TableOptions | None = None,
    backfill: bool = False,
    allow_future: bool = False,
    skip_bad_rows: bool = False,
    rejected_file: Path | None = None,
) -> AddedFile:
    """Add the facts of a file: all or none, or all but the bad rows.

    Args:
        store: The fact store.
        path: The file, in any format that can be imported.
        options: How to read the file. What they do not say is as in the import of the dataset.
        backfill: Whether to accept facts before the last known time step.
        allow_future: Whether to accept facts after today or far after the last known time step.
        skip_bad_rows: Whether to add the other rows if some cannot be added.
        rejected_file: Where to write skipped rows with the reasons. None for ``path`` with ``.rejected.csv`` appended.

    Returns:
        How many facts were added, and which rows were not.

    Raises:
        DataError: The file cannot be read, or has bad rows that are not to be skipped.
        StoreError: The database cannot be used.
    """
    options = options or TableOptions()
    if options.unit is not None:
        raise DataError(f"the time unit of a run cannot be changed; here it is the {store.dataset.axis.unit}")
    if rejected_file is not None and rejected_file.exists():
        raise DataError(f"{rejected_file} already exists; choose another file for rejected rows")
    rejections = Rejections(skip=skip_bad_rows)
    remembered = continued(store.dataset, options)
    try:
        table = read_tables([path], remembered, rejections, store.dataset, MAX_ADDED)
    except MissingColumnsError:
        if remembered == options:
            raise
        # The file does not look like those of the dataset.
        rejections = Rejections(skip=skip_bad_rows)
        table = read_tables([path], options, rejections, store.dataset, MAX_ADDED)
    rows = _rows(table)
    added = _add(store, rows, str(path), rejections, backfill=backfill, allow_future=allow_future)
    result = AddedFile(
        added, rejections.num_blank, table.num_outside, rejections, None, table.num_rows, len(rows), table.num_far_ends
    )
    if not rejections:
        return result
    # If this fails, the command can be repeated: facts that are stored by then are skipped.
    rejected_file = rejected_file or path.with_name(f"{path.name}.rejected.csv")
    with atomic_path(rejected_file) as temporary:
        rejections.write(temporary)
    return replace(result, rejected_file=rejected_file)


def add_records(
    store: FactStore,
    records: list[dict[str, Any]],
    *,
    name: str = "facts",
    backfill: bool = False,
    allow_future: bool = False,
) -> Added:
    """Add facts given as dictionaries, all or none. When this returns, they are on disk.

    Args:
        store: The fact store.
        records: The facts, each with the keys ``subject``, ``relation``, ``object`` and ``time``.
        name: What error messages call the records.
        backfill: Whether to accept facts before the last known time step.
        allow_future: Whether to accept facts after today or far after the last known time step.

    Returns:
        How many facts were added, and which entities are new.

    Raises:
        BadFactsError: Some facts cannot be added; the error has the row and the reason of each.
        DataError: A key is missing in all records, or there are no records.
        StoreError: The database cannot be used.
    """
    if not records:
        raise DataError(f"{name}: no fact was given")
    rejections = Rejections(skip=True)
    try:
        table = read_records(records, name, rejections, store.dataset)
    except DataError:
        if rejections:  # these are the reason why nothing was read
            raise BadFactsError(rejections.problems) from None
        raise
    if rejections:
        raise BadFactsError(rejections.problems)
    rows = _rows(table)
    try:
        facts = [one.fact for one in rows]
        return store.add(facts, backfill=backfill, allow_future=allow_future, note=name)
    except RefusedFactsError as refused:
        raise BadFactsError(_problems(refused, rows, name)) from None


@dataclass(frozen=True)
class _RowFact:
    """A fact and its row."""

    fact: NamedFact
    row: int


def _rows(table: Table) -> list[_RowFact]:
    entities, relations = table.vocabulary.entities, table.vocabulary.relations
    assert table.source_row is not None
    return [
        _RowFact(NamedFact(entities[s], relations[r], entities[o], t), row)
        for (s, r, o, t), row in zip(table.facts, table.source_row.tolist(), strict=True)
    ]


def _add(
    store: FactStore,
    rows: list[_RowFact],
    name: str,
    rejections: Rejections,
    *,
    backfill: bool,
    allow_future: bool,
) -> Added:
    """Add facts; a row that lasts several time steps is added completely or not at all."""
    while True:
        try:
            facts = [one.fact for one in rows]
            return store.add(facts, backfill=backfill, allow_future=allow_future, note=name)
        except RefusedFactsError as refused:
            problems = _problems(refused, rows, name)
            rejections.add(problems)
            rejections.check()
            bad = {problem.row for problem in problems}
            rows = [one for one in rows if one.row not in bad]


def _problems(refused: RefusedFactsError, rows: list[_RowFact], name: str) -> list[Problem]:
    """Return one problem for each row, however many of its time steps are refused."""
    by_row = {rows[place].row: (rows[place], reason) for place, reason in reversed(refused.reasons.items())}
    return [Problem(name, row, "", reason, ",".join(one.fact[:3])) for row, (one, reason) in sorted(by_row.items())]
