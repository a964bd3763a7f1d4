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
    """Named, dated facts in three chronological splits.

    ``load_dataset`` loads one, and ``import_dataset`` makes one from files. Notebooks show a dataset as tables.

    Args:
        name: The name of the dataset.
        vocabulary: The names of entities and relations.
        axis: The dates of the time steps.
        train: The facts to train on.
        valid: The facts to select a model and its settings with.
        test: The facts to evaluate on.

    Raises:
        DataError: If there are no facts to train on.
    """

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
        """The splits by name: train, valid and test."""
        return {name: getattr(self, name) for name in SPLITS}

    def split(self, name: str) -> Facts:
        """Return a split that must not be empty.

        Args:
            name: train, valid or test.

        Raises:
            DataError: If there is no such split, or it is empty.
        """
        if name not in SPLITS:
            raise DataError(f"unknown split {name!r}; the splits are train, valid and test")
        if len(self.splits[name]) == 0:
            raise DataError(f"the {name} split of {self.name!r} is empty")
        return self.splits[name]

    @cached_property
    def facts(self) -> Facts:
        """The facts of all splits."""
        return Facts.concatenate(self.train, self.valid, self.test)

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of names, time axis and facts, independent of the format they were read from."""
        digest = hashlib.sha256(repr(sorted(self.axis.to_dict().items())).encode())
        for names in (self.vocabulary.entities, self.vocabulary.relations):
            digest.update(f"\0{len(names)}\0".encode() + "\0".join(names).encode())
        for split in self.splits.values():
            digest.update(f"\0{len(split)}\0".encode())
            for column in split.columns:
                digest.update(column.data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={len(facts)}" for name, facts in self.splits.items())
        counts = f"entities={self.vocabulary.num_entities}, relations={self.vocabulary.num_relations}"
        return f"Dataset({self.name!r}, {sizes}, {counts}, unit={self.axis.unit.value!r})"

    def _repr_html_(self) -> str:
        """Return the dataset as HTML tables, for notebooks."""
        from titer.data.html import dataset_html

        return dataset_html(self)
