"""Facts in names, and the results of changing a store."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from titer.errors import StoreError, TiterError

MAX_SEQUENCE = 2**63 - 1
"""Largest number of a fact that a database can store."""


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


class StoreChange(NamedTuple):
    """An addition or a removal, as the journal of a store records it.

    Attributes:
        kind: ``add`` or ``remove``.
        first_sequence: The smallest number of its facts.
        last_sequence: The greatest number of its facts.
        num_facts: How many facts were added or removed.
        at: When, in UTC.
        note: What was said about it, such as the name of a file.
    """

    kind: str
    first_sequence: int
    last_sequence: int
    num_facts: int
    at: str
    note: str


def facts_checksum(facts: Iterable[StoredFact], before: str = "") -> str:
    """Return a checksum that is equal for equal facts with equal numbers only.

    Args:
        facts: The facts in the order of their numbers.
        before: The checksum of the facts that precede them; empty if there are none.
    """
    for number, fact, _ in facts:
        before = hashlib.sha256(f"{before}\n{number}\n{fact.fingerprint}".encode()).hexdigest()
    return before


@dataclass(frozen=True)
class Added:
    """The result of adding facts."""

    added: int
    """Number of facts that were stored."""
    known: int
    """Number of facts that were not stored, since they are in the store, in the dataset, or given twice."""
    backfilled: int
    """Number of added facts that are earlier than the last known time step."""
    new_entities: list[str]
    """Entities of the given facts that are not in the dataset, so that the model was not trained on them."""
    last_sequence: int
    """Number of the last fact in the store."""

    __pydantic_config__: ClassVar[dict[str, bool]] = {"use_attribute_docstrings": True}


@dataclass(frozen=True)
class Removed:
    """The result of removing facts."""

    facts: list[StoredFact]
    """The facts that were removed, in the order of their addition."""
    num_left: int
    """Number of facts that are still in the store."""


@dataclass(frozen=True)
class StoreUpdate:
    """What happened in a store since it was last read."""

    facts: list[StoredFact]
    """The facts that were added and are still there; all facts of the store if any was removed."""
    last_sequence: int
    """Number of the last fact that was ever added."""
    num_removals: int
    """How often facts were removed."""


class RefusedFactsError(StoreError):
    """Facts that cannot be added. None of the facts given with them was stored either.

    Attributes:
        reasons: What is wrong, by the place of each fact among those given.
    """

    def __init__(self, reasons: dict[int, str]):
        self.reasons = reasons
        more = f" (and {len(reasons) - 1:,} more)" if len(reasons) > 1 else ""
        super().__init__(next(iter(reasons.values())) + more)


class UnknownNumberError(TiterError):
    """No added fact has a number, or no addition is left to undo."""
