"""A dataset: named, dated facts in three chronological splits."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Facts to learn from, to choose by and to be measured on, with their names and dates."""

    name: str
    vocabulary: Vocabulary
    axis: TimeAxis
    train: Facts
    valid: Facts
    test: Facts

    def __post_init__(self) -> None:
        if len(self.train) == 0:
            raise DataError(f"dataset {self.name!r} has no facts to train on")

    @property
    def splits(self) -> dict[str, Facts]:
        """The splits by name."""
        return {name: getattr(self, name) for name in SPLITS}

    def split(self, name: str) -> Facts:
        """One split by name; an empty one is refused."""
        if name not in SPLITS:
            raise DataError(f"there is no split {name!r}; there are train, valid and test")
        if len(self.splits[name]) == 0:
            raise DataError(f"the {name} split of {self.name!r} is empty")
        return self.splits[name]

    @cached_property
    def facts(self) -> Facts:
        """Every fact of all splits."""
        return Facts.concatenate(self.train, self.valid, self.test)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the content, whatever format it was read from: names, time axis, and facts in order."""
        digest = hashlib.sha256(repr(sorted(self.axis.to_dict().items())).encode())
        for names in (self.vocabulary.entities, self.vocabulary.relations):
            digest.update(f"\0{len(names)}\0".encode() + "\0".join(names).encode())
        for split in self.splits.values():
            digest.update(f"\0{len(split)}\0".encode())
            for column in split.columns:
                digest.update(column.data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        sizes = "/".join(str(len(split)) for split in self.splits.values())
        return f"Dataset({self.name!r}, {sizes} facts, {self.vocabulary!r}, by the {self.axis.unit})"
