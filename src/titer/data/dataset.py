"""A dataset: named, dated facts in three chronological splits."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from titer.data.attributes import Attributes
from titer.data.facts import Facts
from titer.data.readers.options import TableOptions
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
        mapping: How the files of the dataset were read, so that later files are read in the same way.
        attributes: Columns of these files that are shown with the facts.

    Raises:
        DataError: If there are no facts to train on.
    """

    name: str
    vocabulary: Vocabulary
    axis: TimeAxis
    train: Facts
    valid: Facts
    test: Facts
    mapping: TableOptions | None = field(default=None, kw_only=True)
    attributes: Attributes | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if len(self.train) == 0:
            raise DataError(f"dataset {self.name!r} has no facts to train on")

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        subject: str | None = None,
        relation: str | None = None,
        object: str | None = None,
        time: str | None = None,
        start: str | None = None,
        end: str | None = None,
        **options: Any,
    ) -> "Dataset":
        """Return the dataset of a data frame with one fact in each row.

        >>> dataset = titer.Dataset.from_pandas(frame, subject="who", relation="did", object="whom", time="when")

        Args:
            frame: A data frame of pandas or polars, an Arrow table, or anything else that Arrow can read.
            subject: The column of the subjects; by default ``subject``. ``"a+b"`` joins two columns, and ``"a|b"``
                uses ``b`` where ``a`` has no value.
            relation: The column of the relations; by default ``relation``.
            object: The column of the objects; by default ``object``.
            time: The column of the dates or numbers; by default ``time``.
            start: The column with the first date of facts that last, instead of ``time``.
            end: The column with their last date.
            **options: Options of ``import_dataset``, such as ``unit="week"``, ``constants={"relation": "acquired"}``,
                ``split=(0.8, 0.1, 0.1)`` or ``skip_bad_rows=True``.

        Returns:
            The dataset.

        Raises:
            DataError: If a column is missing, or a row cannot be used.
        """
        from titer.data.importing import import_frame

        parts = {"subject": subject, "relation": relation, "object": object, "time": time, "start": start, "end": end}
        columns = {part: column for part, column in parts.items() if column is not None}
        return import_frame(frame, columns={**options.pop("columns", {}), **columns}, **options)

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

    @property
    def lasting(self) -> bool:
        """Whether the facts were imported from intervals: equal facts of consecutive steps are then one term."""
        return self.mapping is not None and "start" in {**self.mapping.columns, **self.mapping.constants}

    @cached_property
    def facts(self) -> Facts:
        """The facts of all splits."""
        return Facts.concatenate(self.train, self.valid, self.test)

    @cached_property
    def folder(self) -> Path | None:
        """The dataset folder that this dataset was opened from; None if it was made in another way."""
        return None

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
