"""The store: named facts that were added to a dataset, each once, in the order in which they were added."""

import hashlib
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import MAX_STEPS
from titer.errors import StoreError
from titer.extras import missing

try:
    from sqlalchemy import Connection, func, insert, inspect, select, text, update
    from sqlalchemy.exc import SQLAlchemyError
except ImportError:
    raise missing("A fact store", "serve") from None

from titer.store import schema
from titer.store.database import WRITES, connect, database_url

LOOK_UP = 500
"""How many facts are looked up together."""
CREATION_LOCK = 0x7174_6572
"""Any number that nobody else locks: PostgreSQL lets two processes create one table at once, and one fails."""


class NamedFact(NamedTuple):
    """A fact by names, at a step of the dataset's time axis."""

    subject: str
    relation: str
    object: str
    step: int

    @property
    def fingerprint(self) -> str:
        """What two equal facts have in common; names have no line breaks."""
        return hashlib.sha256("\n".join(map(str, self)).encode()).hexdigest()


class StoredFact(NamedTuple):
    """A fact of the store."""

    sequence: int
    fact: NamedFact
    added_at: str


@dataclass(frozen=True)
class Added:
    """What has become of facts that were sent."""

    num_added: int
    num_known: int
    """Sent before, twice, or in the dataset: these count once."""
    num_backfilled: int
    """Of the added ones, how many are earlier than what was known."""
    untrained: list[str]
    """Entities of these facts that the dataset does not have."""
    last_sequence: int


class RefusedFactsError(StoreError):
    """Facts that cannot be taken, by their places among those that were sent; none of them was stored."""

    def __init__(self, reasons: dict[int, str]):
        self.reasons = reasons
        more = f" (and {len(reasons) - 1:,} more)" if len(reasons) > 1 else ""
        super().__init__(next(iter(reasons.values())) + more)


class FactStore:
    """Facts that were added to a dataset, in SQLite or PostgreSQL; several processes may use it at once.

    Every fact has a sequence number. Numbers have no gap, and one is never seen before all smaller ones are, so
    ``since`` misses nothing. When ``add`` has returned, the facts are on disk.
    """

    def __init__(self, address: str | Path, dataset: Dataset):
        url = database_url(address)
        self.name = url.render_as_string(hide_password=True)
        self.dataset = dataset
        self.first_step, self.last_step = int(dataset.facts.time.min()), int(dataset.facts.time.max())
        self._engine = connect(url)
        weakref.finalize(self, self._engine.dispose)  # for those who do not close it
        try:
            with self._guard():
                self._open()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def __enter__(self) -> "FactStore":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _open(self) -> None:
        with self._engine.connect() as connection:
            tables = set(inspect(connection).get_table_names())
        if not set(schema.metadata.tables) <= tables:
            if tables and self._engine.dialect.name == "sqlite":
                raise StoreError(f"{self.name} is a database of something else: it has no {schema.about.name}")
            with self._writing() as connection:
                self._create(connection)
        with self._engine.connect() as connection:
            found = connection.execute(select(schema.about)).one_or_none()
        if found is None:
            raise StoreError(f"{self.name} is damaged: it does not say which facts it continues")
        if found.format != schema.FORMAT:
            raise StoreError(f"{self.name} has format {found.format}; this version of titer uses {schema.FORMAT}")
        if found.dataset != self.dataset.checksum:
            raise StoreError(
                f"{self.name} holds facts that continue another dataset ({found.dataset_name!r} "
                f"{found.dataset[:8]}, not {self.dataset.name!r} {self.dataset.checksum[:8]})"
            )

    def _create(self, connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})"))
        schema.metadata.create_all(connection)
        if connection.execute(select(schema.about)).one_or_none() is None:
            first = {"id": 1, "format": schema.FORMAT, "last_sequence": 0}
            whose = {"dataset": self.dataset.checksum, "dataset_name": self.dataset.name}
            connection.execute(insert(schema.about).values(**first, **whose))

    def add(self, facts: Sequence[NamedFact], *, backfill: bool = False) -> Added:
        """Store facts, all or none; when this returns, they are on disk.

        Facts before the last known step are refused unless ``backfill`` is set. Known ones count once, however old.
        """
        self._check_names(facts)
        with self._guard(), self._writing() as connection:
            # Locks the row until the end: no other process adds facts meanwhile.
            last = connection.execute(select(schema.about.c.last_sequence).with_for_update()).scalar_one()
            known = self._known(connection, facts)
            new = [place for place in range(len(facts)) if not known[place]]
            earliest, latest = self._span(connection)
            self._check_times(facts, new, earliest, latest, backfill)
            num_backfilled = sum(facts[place].step < latest for place in new)
            if new:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                rows = [
                    {"sequence": sequence, "fingerprint": facts[place].fingerprint, "added_at": now}
                    | facts[place]._asdict()
                    for sequence, place in enumerate(new, start=last + 1)
                ]
                connection.execute(insert(schema.facts), rows)
                connection.execute(update(schema.about).values(last_sequence=last + len(new)))
        names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
        untrained = [name for name in names if name not in self.dataset.vocabulary.entity_ids]
        return Added(len(new), len(facts) - len(new), num_backfilled, untrained, last + len(new))

    def _known(self, connection: Connection, facts: Sequence[NamedFact]) -> list[bool]:
        """Which facts are in the dataset, in the store, or among those before them."""
        seen = self._in_dataset(facts)
        fingerprints = [fact.fingerprint for fact in facts]
        for start in range(0, len(facts), LOOK_UP):
            wanted = fingerprints[start : start + LOOK_UP]
            column = schema.facts.c.fingerprint
            seen.update(connection.scalars(select(column).where(column.in_(wanted))))
        known = []
        for fingerprint in fingerprints:
            known.append(fingerprint in seen)
            seen.add(fingerprint)
        return known

    def _in_dataset(self, facts: Sequence[NamedFact]) -> set[str]:
        """Fingerprints of the facts that the dataset has itself."""
        entities, relations = self.dataset.vocabulary.entity_ids, self.dataset.vocabulary.relation_ids
        sent = [
            fact
            for fact in facts
            if fact.step <= self.last_step
            and fact.relation in relations
            and fact.subject in entities
            and fact.object in entities
        ]
        if not sent:
            return set()
        rows = Facts.from_rows([(entities[f.subject], relations[f.relation], entities[f.object], f.step) for f in sent])
        old = self.dataset.facts[self.dataset.facts.time >= rows.time.min()]
        # Each row of its own here: a fact that was sent twice is told from one that the dataset has.
        distinct = rows[rows.first_occurrences()]
        repeats = ~Facts.concatenate(old, distinct).first_occurrences()[len(old) :]
        names = self.dataset.vocabulary
        return {
            NamedFact(names.entities[s], names.relations[r], names.entities[o], t).fingerprint
            for s, r, o, t in distinct[repeats]
        }

    def _span(self, connection: Connection) -> tuple[int, int]:
        """The first and the last step of all that is known."""
        column = schema.facts.c.step
        first, last = connection.execute(select(func.min(column), func.max(column))).one()
        if first is None:
            return self.first_step, self.last_step
        return min(self.first_step, first), max(self.last_step, last)

    def _check_names(self, facts: Sequence[NamedFact]) -> None:
        reasons = {}
        for place, fact in enumerate(facts):
            if fact.relation not in self.dataset.vocabulary.relation_ids:
                reasons[place] = f"the relation {fact.relation!r} was never learned"
            elif not all(map(_is_name, fact[:3])):
                reasons[place] = "a name is empty, is no Unicode text, or has a line break or a zero byte in it"
        if reasons:
            raise RefusedFactsError(reasons)

    def _check_times(self, facts: Sequence[NamedFact], new: list[int], first: int, last: int, backfill: bool) -> None:
        axis, reasons = self.dataset.axis, {}
        low, high = first, last  # new facts must lie near enough to each other, too
        for place in new:
            step = facts[place].step
            if max(high, step) - min(low, step) >= MAX_STEPS:
                reasons[place] = f"facts cannot be {MAX_STEPS:,} steps apart"
            elif step < last and not backfill:
                ago = f"{axis.duration(last - step)} before the last known step, {axis.label(last)}"
                reasons[place] = f"{axis.label(step)} is {ago}; only a backfill takes in such facts"
            else:
                low, high = min(low, step), max(high, step)
        if reasons:
            raise RefusedFactsError(reasons)

    @property
    def last_sequence(self) -> int:
        """The number of the fact that was added last; also how many there are."""
        with self._guard(), self._engine.connect() as connection:
            return connection.execute(select(schema.about.c.last_sequence)).scalar_one()

    def since(self, sequence: int) -> list[StoredFact]:
        """All facts that were added after the one with this number, in order; checked for damage."""
        last = self.last_sequence
        if last == sequence:
            return []
        if last < sequence:
            raise StoreError(f"{self.name} has gone back: it had {sequence:,} facts and now has {last:,}")
        found = self._read(select(schema.facts).where(schema.facts.c.sequence > sequence))
        numbers = range(sequence + 1, sequence + 1 + len(found))
        if len(found) < last - sequence or any(fact.sequence != n for fact, n in zip(found, numbers, strict=True)):
            raise StoreError(f"{self.name} is damaged: facts are missing from it")
        return found

    def latest(self, count: int) -> list[StoredFact]:
        """The facts that were added last, in order."""
        newest = select(schema.facts).order_by(schema.facts.c.sequence.desc()).limit(count).subquery()
        return self._read(select(newest), newest)

    def _read(self, query: Any, table: Any = schema.facts) -> list[StoredFact]:
        found = []
        with self._guard(), self._engine.connect() as connection:
            for row in connection.execute(query.order_by(table.c.sequence)):
                fact = NamedFact(row.subject, row.relation, row.object, row.step)
                if fact.fingerprint != row.fingerprint:
                    raise StoreError(f"{self.name} is damaged: fact {row.sequence} is not what was stored")
                found.append(StoredFact(row.sequence, fact, row.added_at))
        return found

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        with self._engine.connect() as connection:
            connection = connection.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def _guard(self) -> Generator[None]:
        """What goes wrong in the database is said in a line."""
        try:
            yield
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise StoreError(f"{self.name} cannot be used as a store of facts: {reason}") from error


def _is_name(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return bool(text) and not set(text) & set("\0\n\r")
