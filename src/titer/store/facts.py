"""The fact store: named facts that were added to a dataset, each once, in the order of their addition."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.errors import StoreError
from titer.extras import missing

try:
    from sqlalchemy import Connection, delete, func, insert, select, update
except ImportError:
    raise missing("a fact store", "serve") from None

from titer.store import schema
from titer.store.checks import KnownTimes, check_names, check_times
from titer.store.named import (
    MAX_SEQUENCE,
    Added,
    NamedFact,
    RefusedFactsError,
    Removed,
    StoreChange,
    StoredFact,
    StoreUpdate,
    UnknownNumberError,
)
from titer.store.opened import OpenedStore

__all__ = ["Added", "FactStore", "NamedFact", "RefusedFactsError", "Removed", "StoredFact", "UnknownNumberError"]

LOOK_UP = 500
"""How many facts one statement looks up."""


class FactStore(OpenedStore):
    """Facts added to a dataset, in SQLite or PostgreSQL. Several threads and processes may use it at once.

    Every fact has a sequence number. A number becomes visible only after all smaller ones, and is never used again, so
    ``update`` misses no fact. When ``add`` or ``remove`` has returned, the change is on disk. Every change is recorded
    in a journal, and removed facts are kept in a table of their own.

    Attributes:
        name: The URL of the database, without passwords.
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
            MissingPackageError: The driver of PostgreSQL is not installed.
            StoreError: The database cannot be used, is empty though it exists, or belongs to another dataset.
        """
        super().__init__(address, dataset)
        self.first_step, self.last_step = int(dataset.facts.time.min()), int(dataset.facts.time.max())

    def add(
        self, facts: Sequence[NamedFact], *, backfill: bool = False, allow_future: bool = False, note: str = ""
    ) -> Added:
        """Store facts, all or none. When this returns, they are on disk.

        Facts that are known already, from the store or the dataset, are skipped.

        Args:
            facts: The facts.
            backfill: Whether to accept facts before the last known time step.
            allow_future: Whether to accept facts after today or far after the last known time step.
            note: What the journal says about the addition, such as the name of a file.

        Returns:
            How many facts were added, and which entities are new.

        Raises:
            RefusedFactsError: Some facts have an unknown relation, an invalid name or an invalid time.
            StoreError: The database cannot be used.
        """
        check_names(facts, self.dataset)
        with self._guard(), self._writing() as connection:
            last = self._lock(connection)
            known = self._known(connection, facts)
            new = [place for place in range(len(facts)) if not known[place]]
            times = self._times(connection)
            check_times(facts, new, times, self.dataset.axis, backfill=backfill, allow_future=allow_future)
            num_backfilled = sum(facts[place].step < times.last for place in new)
            if new:
                now = _now()
                rows = [
                    {"sequence": sequence, "fingerprint": facts[place].fingerprint, "added_at": now}
                    | facts[place]._asdict()
                    for sequence, place in enumerate(new, start=last + 1)
                ]
                connection.execute(insert(schema.facts), rows)
                connection.execute(update(schema.about).values(last_sequence=last + len(new)))
                self._record(connection, "add", last + 1, last + len(new), len(new), note)
        self._check_file()
        names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
        untrained = [name for name in names if name not in self.dataset.vocabulary.entity_ids]
        return Added(len(new), len(facts) - len(new), num_backfilled, untrained, last + len(new))

    def remove(self, sequences: Collection[int], *, note: str = "") -> Removed:
        """Remove facts, all or none. The journal records it, and a removed fact can be added again.

        Args:
            sequences: The numbers of the facts.
            note: What the journal says about the removal.

        Returns:
            The removed facts.

        Raises:
            UnknownNumberError: The store has no fact with one of the numbers.
            StoreError: The database cannot be used.
        """
        wanted = sorted(set(sequences))
        if wanted and not 0 < wanted[0] <= wanted[-1] <= MAX_SEQUENCE:
            unknown = wanted[0] if wanted[0] < 1 else wanted[-1]
            raise UnknownNumberError(f"no added fact has the number {unknown}; list the facts for their numbers")
        with self._guard(), self._writing() as connection:
            self._lock(connection)
            found = self._with_numbers(connection, wanted)
            if len(found) < len(wanted):
                unknown = next(number for number in wanted if number not in {row.sequence for row in found})
                raise UnknownNumberError(f"no added fact has the number {unknown}; list the facts for their numbers")
            num_left = self._remove(connection, found, note)
        self._check_file()
        return Removed([_stored(row) for row in found], num_left)

    def undo(self, *, note: str = "undo") -> Removed:
        """Remove the facts of the last addition of which any are left.

        Args:
            note: What the journal says about the removal.

        Returns:
            The removed facts.

        Raises:
            UnknownNumberError: No addition is left.
            StoreError: The database cannot be used.
        """
        added, facts = schema.changes.c, schema.facts.c
        is_left = select(facts.sequence).where(facts.sequence.between(added.first_sequence, added.last_sequence))
        with self._guard(), self._writing() as connection:
            self._lock(connection)
            last = connection.execute(
                select(added.first_sequence, added.last_sequence)
                .where(added.kind == "add", is_left.exists())
                .order_by(added.id.desc())
                .limit(1)
            ).one_or_none()
            if last is None:
                raise UnknownNumberError("there is no recorded addition to undo; remove facts by their numbers")
            numbers = facts.sequence.between(*last)
            found = list(connection.execute(select(schema.facts).where(numbers).order_by(facts.sequence)))
            num_left = self._remove(connection, found, note)
        self._check_file()
        return Removed([_stored(row) for row in found], num_left)

    def _remove(self, connection: Connection, rows: Sequence[Any], note: str) -> int:
        """Move facts to the table of removed ones; return how many are left."""
        if rows:
            change = self._record(connection, "remove", rows[0].sequence, rows[-1].sequence, len(rows), note)
            connection.execute(insert(schema.removed), [{**row._mapping, "change": change} for row in rows])
            for start in range(0, len(rows), LOOK_UP):
                numbers = [row.sequence for row in rows[start : start + LOOK_UP]]
                connection.execute(delete(schema.facts).where(schema.facts.c.sequence.in_(numbers)))
            connection.execute(update(schema.about).values(format=schema.FORMATS[-1]))
        return connection.execute(select(func.count()).select_from(schema.facts)).scalar_one()

    def _lock(self, connection: Connection) -> int:
        """Lock the store until the transaction ends, so that no other process changes it; return the last number."""
        return connection.execute(select(schema.about.c.last_sequence).with_for_update()).scalar_one()

    def _record(self, connection: Connection, kind: str, first: int, last: int, count: int, note: str) -> int:
        """Write a change to the journal; return its number."""
        number = (connection.execute(select(func.max(schema.changes.c.id))).scalar_one() or 0) + 1
        row = {"id": number, "kind": kind, "first_sequence": first, "last_sequence": last}
        connection.execute(insert(schema.changes).values(**row, num_facts=count, at=_now(), note=note[:1000]))
        return number

    def _with_numbers(self, connection: Connection, numbers: list[int]) -> list[Any]:
        column, found = schema.facts.c.sequence, []
        for start in range(0, len(numbers), LOOK_UP):
            wanted = column.in_(numbers[start : start + LOOK_UP])
            found += connection.execute(select(schema.facts).where(wanted).order_by(column))
        return found

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

    def _times(self, connection: Connection) -> KnownTimes:
        column = schema.facts.c.step
        first, last = connection.execute(select(func.min(column), func.max(column))).one()
        if first is None:
            return KnownTimes(self.first_step, self.last_step)
        return KnownTimes(min(self.first_step, first), max(self.last_step, last))

    @property
    def last_sequence(self) -> int:
        """The number of the fact that was added last, also if it was removed again."""
        with self._guard(), self._engine.connect() as connection:
            return connection.execute(select(schema.about.c.last_sequence)).scalar_one()

    @property
    def num_facts(self) -> int:
        """The number of facts in the store."""
        with self._guard(), self._engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(schema.facts)).scalar_one()

    def update(self, last_sequence: int = 0, num_removals: int = 0) -> StoreUpdate:
        """Return what happened since the store was last read, checked for damage.

        Args:
            last_sequence: The number of the last fact that was read; 0 for none.
            num_removals: The number of removals at that time.

        Returns:
            The new facts, or all facts if any were removed meanwhile.

        Raises:
            StoreError: The database cannot be used, or facts are missing or were changed.
        """
        with self._guard(), self._reading() as connection:
            last = connection.execute(select(schema.about.c.last_sequence)).scalar_one()
            removals = self._num_removals(connection)
            if last < last_sequence or removals < num_removals:
                raise StoreError(f"{self.name} has lost facts: it had {last_sequence:,} and now has {last:,}")
            if removals != num_removals:
                last_sequence = 0  # facts that were read may be gone
            elif last == last_sequence:
                return StoreUpdate([], last, removals)
            column = schema.facts.c.sequence
            found = list(connection.execute(select(schema.facts).where(column > last_sequence).order_by(column)))
            gone = self._num_removed(connection, last_sequence) if removals else 0
        facts = [self._checked(row) for row in found]
        # Numbers are unique and at most the last one, so a missing fact shows in their count.
        if len(facts) + gone != last - last_sequence or (facts and facts[-1].sequence > last):
            raise StoreError(f"{self.name} is damaged: facts are missing from it")
        return StoreUpdate(facts, last, removals)

    def since(self, sequence: int) -> list[StoredFact]:
        """Return all facts that were added after a given one, in order, checked for damage.

        Args:
            sequence: The number of that fact; 0 for all facts.

        Raises:
            StoreError: The database cannot be used, or facts are missing or were changed.
        """
        with self._guard(), self._engine.connect() as connection:
            removals = self._num_removals(connection)
        return [fact for fact in self.update(sequence, removals).facts if fact.sequence > sequence]

    def last_added(self, count: int) -> list[StoredFact]:
        """Return the facts that were added last, in the order of their addition.

        Args:
            count: How many facts to return at most.

        Raises:
            StoreError: The database cannot be used, or facts were changed.
        """
        with self._guard(), self._engine.connect() as connection:
            newest = select(schema.facts).order_by(schema.facts.c.sequence.desc()).limit(count)
            return [self._checked(row) for row in reversed(list(connection.execute(newest)))]

    def page(self, after: int, count: int) -> list[StoredFact]:
        """Return some facts in the order of their addition.

        Args:
            after: Only facts with greater numbers are returned.
            count: How many facts to return at most.

        Raises:
            StoreError: The database cannot be used, or facts were changed.
        """
        column = schema.facts.c.sequence
        with self._guard(), self._engine.connect() as connection:
            found = connection.execute(select(schema.facts).where(column > after).order_by(column).limit(count))
            return [self._checked(row) for row in found]

    def journal(self) -> list[StoreChange]:
        """Return all additions and removals in their order.

        Raises:
            StoreError: The database cannot be used.
        """
        if not self._has_journal:
            return []
        columns = [schema.changes.c[name] for name in StoreChange._fields]
        with self._guard(), self._engine.connect() as connection:
            return [StoreChange(*row) for row in connection.execute(select(*columns).order_by(schema.changes.c.id))]

    def _num_removals(self, connection: Connection) -> int:
        if not self._has_journal:
            return 0
        count = select(func.count()).select_from(schema.changes).where(schema.changes.c.kind == "remove")
        return connection.execute(count).scalar_one()

    def _num_removed(self, connection: Connection, after: int) -> int:
        """Return how many facts with greater numbers were removed."""
        count = select(func.count()).select_from(schema.removed).where(schema.removed.c.sequence > after)
        return connection.execute(count).scalar_one()

    def _checked(self, row: Any) -> StoredFact:
        found = _stored(row)
        if found.fact.fingerprint != row.fingerprint:
            raise StoreError(f"{self.name} is damaged: fact {row.sequence} was changed")
        return found


def _stored(row: Any) -> StoredFact:
    return StoredFact(row.sequence, NamedFact(row.subject, row.relation, row.object, row.step), row.added_at)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
