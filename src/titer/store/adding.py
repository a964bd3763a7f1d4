"""From a file, or from objects in memory, to the store: checked as on import."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from titer.data.readers.rejections import Problem, Rejections
from titer.data.readers.tables import Table, TableOptions, read_records, read_tables
from titer.errors import DataError
from titer.files import atomic_path
from titer.store.facts import Added, FactStore, NamedFact, RefusedFactsError


@dataclass(frozen=True)
class AddedFile:
    """What has become of the facts of a file, and every row that was not taken."""

    added: Added
    num_blank: int
    """Rows with nothing in them."""
    num_outside: int
    """Rows outside the dates that were asked for."""
    rejections: Rejections
    rejected_file: Path | None
    """Where the rejected rows were written, if there were any."""


class BadFactsError(DataError):
    """Facts that cannot be taken, each with its row and the reason; none of those sent along was stored either."""

    def __init__(self, problems: list[Problem]):
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


def add_file(
    store: FactStore,
    path: Path,
    *,
    options: TableOptions | None = None,
    backfill: bool = False,
    skip_bad_rows: bool = False,
    rejected_file: Path | None = None,
) -> AddedFile:
    """Add the facts of a file, all or none; or all but the bad rows, which go to ``rejected_file`` with the reasons."""
    options = options or TableOptions()
    if options.unit is not None:
        raise DataError(f"time is counted by the {store.dataset.axis.unit} here; a step cannot be changed any more")
    if rejected_file is not None and rejected_file.exists():
        raise DataError(f"{rejected_file} already exists; choose another place for rejected rows")
    rejections = Rejections(skip=skip_bad_rows)
    table = read_tables([path], options, rejections, store.dataset)
    added = _add(store, _sent(table), str(path), rejections, backfill=backfill)
    if not rejections:
        return AddedFile(added, rejections.num_blank, table.num_outside, rejections, None)
    # Should this fail, the command can be given again: facts that are known by then count once.
    rejected_file = rejected_file or path.with_name(f"{path.name}.rejected.csv")
    with atomic_path(rejected_file) as temporary:
        rejections.write(temporary)
    return AddedFile(added, rejections.num_blank, table.num_outside, rejections, rejected_file)


def add_records(
    store: FactStore, records: list[dict[str, Any]], *, name: str = "facts", backfill: bool = False
) -> Added:
    """Add facts given as objects (``subject``, ``relation``, ``object`` and ``time``), all or none."""
    rejections = Rejections(skip=True)
    try:
        table = read_records(records, name, rejections, store.dataset)
    except DataError:
        if rejections:  # then these say why nothing was read
            raise BadFactsError(rejections.problems) from None
        raise
    if rejections:
        raise BadFactsError(rejections.problems)
    sent = _sent(table)
    try:
        return store.add([one.fact for one in sent], backfill=backfill)
    except RefusedFactsError as refused:
        raise BadFactsError(_problems(refused, sent, name)) from None


@dataclass(frozen=True)
class _Sent:
    """A fact, and where it came from."""

    fact: NamedFact
    row: int


def _sent(table: Table) -> list[_Sent]:
    entities, relations = table.vocabulary.entities, table.vocabulary.relations
    assert table.source_row is not None
    return [
        _Sent(NamedFact(entities[s], relations[r], entities[o], t), row)
        for (s, r, o, t), row in zip(table.facts, table.source_row.tolist(), strict=True)
    ]


def _add(store: FactStore, sent: list[_Sent], name: str, rejections: Rejections, *, backfill: bool) -> Added:
    """Add what was read; a row that lasts is taken as a whole or not at all."""
    while True:
        try:
            return store.add([one.fact for one in sent], backfill=backfill)
        except RefusedFactsError as refused:
            problems = _problems(refused, sent, name)
            rejections.add(problems)
            bad = {problem.row for problem in problems}
            sent = [one for one in sent if one.row not in bad]


def _problems(refused: RefusedFactsError, sent: list[_Sent], name: str) -> list[Problem]:
    """One problem for each row, however many of its steps are refused."""
    by_row = {sent[place].row: (sent[place], reason) for place, reason in reversed(refused.reasons.items())}
    return [Problem(name, row, "", reason, ",".join(one.fact[:3])) for row, (one, reason) in sorted(by_row.items())]
