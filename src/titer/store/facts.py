"""The fact store: named facts that were added to a dataset, each once, in the order of their addition."""

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
"""How many facts one statement looks up."""
CREATION_LOCK = 0x7174_6572
"""Key of an advisory lock: without it, PostgreSQL lets two processes create the same table, and one fails."""


class NamedFact(NamedTuple):
    """A fact in names.

    Attributes:
        subject: Name of the subject.
        relation: Name of the relation.
        object: Name of the object.
        step: Time step of the dataset's time axis.
    """

    subject: str
    relation: str
    object: str
    step: int

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for equal facts only, since names have no line breaks."""
        return hashlib.sha256("\n".join(map(str, self)).encode()).hexdigest()


class StoredFact(NamedTuple):
    """A fact of the store.

    Attributes:
        sequence: Its number; the first fact that was added has number 1.
        fact: The fact.
        added_at: When it was added, in UTC.
    """

    sequence: int
    fact: NamedFact
    added_at: str


@dataclass(frozen=True)
class Added:
    """The result of adding facts."""

    num_added: int
    """Number of facts that were stored."""
    num_known: int
    """Number of facts that were not stored, since they are in the store, in the dataset, or given twice."""
    num_backfilled: int
    """Number of added facts that are earlier than the last known time step."""
    untrained: list[str]
    """Entities of the given facts that are not in the dataset."""
    last_sequence: int
    """Number of the last fact in the store."""


class RefusedFactsError(StoreError):
    """Facts that cannot be added. None of the facts given with them was stored either.

    Attributes:
        reasons: What is wrong, by the place of each fact among those given.
    """

    def __init__(self, reasons: dict[int, str]):
        self.reasons = reasons
        more = f" (and {len(reasons) - 1:,} more)" if len(reasons) > 1 else ""
        super().__init__(next(iter(reasons.values())) + more)


class FactStore:
    """Facts added to a dataset, in SQLite or PostgreSQL. Several threads and processes may use it at once.

    Every fact has a sequence number. Numbers have no gaps, and a number becomes visible only after all smaller ones, so
    ``since`` misses no fact. When ``add`` has returned, the facts are on disk.

    Attributes:
        name: The URL of the database, without a password.
        dataset: The dataset that the facts continue.
        first_step: The first time step of the dataset.
        last_step: The last time step of the dataset.
    """

    def __init__(self, address: str | Path, dataset: Dataset):
        """Open a fact store; create it if it does not exist.

        Args:
            address: The path of an SQLite file, or the URL of a database.
            dataset: The dataset that the facts continue.

        Raises:
            StoreError: The database cannot be used, or belongs to another dataset.
        """
        url = database_url(address)
        self.name = url.render_as_string(hide_password=True)
        self.dataset = dataset
        self.first_step, self.last_step = int(dataset.facts.time.min()), int(dataset.facts.time.max())
        self._engine = connect(url)
        weakref.finalize(self, self._engine.dispose)  # in case it is never closed
        try:
            with self._guard():
                self._open()
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections to the database."""
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
                raise StoreError(f"{self.name} is not a fact store: it has no table {schema.about.name}")
            with self._writing() as connection:
                self._create(connection)
        with self._engine.connect() as connection:
            found = connection.execute(select(schema.about)).one_or_none()
        if found is None:
            raise StoreError(f"{self.name} is damaged: the table {schema.about.name} is empty")
        if found.format != schema.FORMAT:
            raise StoreError(f"{self.name} has format {found.format}; this version of titer uses {schema.FORMAT}")
        if found.dataset != self.dataset.checksum:
            raise StoreError(
                f"{self.name} belongs to another dataset ({found.dataset_name!r} "
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
        """Store facts, all or none. When this returns, they are on disk.

        Facts that are known already, from the store or the dataset, are skipped.

        Args:
            facts: The facts.
            backfill: Whether to accept facts before the last known time step.

        Returns:
            How many facts were added, and which entities are new.

        Raises:
            RefusedFactsError: Some facts have an unknown relation, an invalid name or an invalid time.
            StoreError: The database cannot be used.
        """
        self._check_names(facts)
        with self._guard(), self._writing() as connection:
            # This locks the row until the transaction ends, so no other process adds facts meanwhile.
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
        """Return which facts are in the dataset, in the store, or given before."""
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
        """Return the fingerprints of the facts that are in the dataset."""
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
        # Without duplicates, a repeated row can only repeat a fact of the dataset.
        distinct = rows[rows.first_occurrences()]
        repeats = ~Facts.concatenate(old, distinct).first_occurrences()[len(old) :]
        names = self.dataset.vocabulary
        return {
            NamedFact(names.entities[s], names.relations[r], names.entities[o], t).fingerprint
            for s, r, o, t in distinct[repeats]
        }

    def _span(self, connection: Connection) -> tuple[int, int]:
        """Return the first and the last known time step."""
        column = schema.facts.c.step
        first, last = connection.execute(select(func.min(column), func.max(column))).one()
        if first is None:
            return self.first_step, self.last_step
        return min(self.first_step, first), max(self.last_step, last)

    def _check_names(self, facts: Sequence[NamedFact]) -> None:
        reasons = {}
        for place, fact in enumerate(facts):
            if fact.relation not in self.dataset.vocabulary.relation_ids:
                reasons[place] = f"unknown relation {fact.relation!r}"
            elif not all(map(_is_name, fact[:3])):
                reasons[place] = "a name is empty, is not valid Unicode, or contains a line break or a zero byte"
        if reasons:
            raise RefusedFactsError(reasons)

    def _check_times(self, facts: Sequence[NamedFact], new: list[int], first: int, last: int, backfill: bool) -> None:
        axis, reasons = self.dataset.axis, {}
        low, high = first, last  # also bounds the distance between new facts
        for place in new:
            step = facts[place].step
            if max(high, step) - min(low, step) >= MAX_STEPS:
                reasons[place] = f"facts may not be {MAX_STEPS:,} or more steps apart"
            elif step < last and not backfill:
                ago = f"{axis.duration(last - step)} before the last known step, {axis.label(last)}"
                reasons[place] = f"{axis.label(step)} is {ago}; only a backfill accepts earlier facts"
            else:
                low, high = min(low, step), max(high, step)
        if reasons:
            raise RefusedFactsError(reasons)

    @property
    def last_sequence(self) -> int:
        """The number of the fact that was added last, which is also the number of facts."""
        with self._guard(), self._engine.connect() as connection:
            return connection.execute(select(schema.about.c.last_sequence)).scalar_one()

    def since(self, sequence: int) -> list[StoredFact]:
        """Return all facts that were added after a given one, in order, checked for damage.

        Args:
            sequence: The number of that fact; 0 for all facts.

        Raises:
            StoreError: The database cannot be used, or facts are missing or were changed.
        """
        last = self.last_sequence
        if last == sequence:
            return []
        if last < sequence:
            raise StoreError(f"{self.name} has lost facts: it had {sequence:,} and now has {last:,}")
        found = self._read(select(schema.facts).where(schema.facts.c.sequence > sequence))
        numbers = range(sequence + 1, sequence + 1 + len(found))
        if len(found) < last - sequence or any(fact.sequence != n for fact, n in zip(found, numbers, strict=True)):
            raise StoreError(f"{self.name} is damaged: facts are missing from it")
        return found

    def last_added(self, count: int) -> list[StoredFact]:
        """Return the facts that were added last, in the order of their addition.

        Args:
            count: How many facts to return at most.

        Raises:
            StoreError: The database cannot be used, or facts were changed.
        """
        newest = select(schema.facts).order_by(schema.facts.c.sequence.desc()).limit(count).subquery()
        return self._read(select(newest), newest)

    def _read(self, query: Any, table: Any = schema.facts) -> list[StoredFact]:
        found = []
        with self._guard(), self._engine.connect() as connection:
            for row in connection.execute(query.order_by(table.c.sequence)):
                fact = NamedFact(row.subject, row.relation, row.object, row.step)
                if fact.fingerprint != row.fingerprint:
                    raise StoreError(f"{self.name} is damaged: fact {row.sequence} was changed")
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
        """Turn errors of the database into a ``StoreError`` with one line."""
        try:
            yield
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise StoreError(f"{self.name} cannot be used as a fact store: {reason}") from error


def _is_name(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a surrogate
        return False
    return bool(text) and not set(text) & set("\0\n\r")
