"""A stored dataset: a folder of Feather columns and a small TOML with their checksums."""

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather

from titer.data.dataset import SPLITS, Dataset
from titer.data.facts import COLUMNS, Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.files import atomic_directory, sha256_of, write_text
from titer.toml import to_toml

DESCRIPTION = "dataset.toml"
FORMAT = 1


def save_dataset(dataset: Dataset, folder: Path, *, overwrite: bool = False) -> None:
    """Write a dataset as a folder, whole or not at all."""
    with atomic_directory(folder, overwrite=overwrite) as temporary:
        for name, facts in dataset.splits.items():
            _write(temporary / f"{name}.feather", dict(zip(COLUMNS, facts.columns, strict=True)))
        _write(temporary / "entities.feather", {"name": pa.array(dataset.vocabulary.entities, pa.large_string())})
        _write(
            temporary / "relations.feather",
            {"name": pa.array(dataset.vocabulary.relations, pa.large_string())},
        )
        description = {
            "format": FORMAT,
            "name": dataset.name,
            "checksum": dataset.checksum,
            "time": dataset.axis.to_dict(),
            "sha256": {path.name: sha256_of(path) for path in sorted(temporary.iterdir())},
        }
        write_text(temporary / DESCRIPTION, to_toml({"seal": _seal(description), **description}))


def open_dataset(folder: Path) -> Dataset:
    """Open a stored dataset. Facts are memory-mapped; a file that was changed is refused."""
    try:
        description = tomllib.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if description["format"] != FORMAT:
            raise DataError(f"{folder} has format {description['format']}; this version of titer reads {FORMAT}")
        if description.pop("seal") != _seal(description):
            raise DataError(f"{folder / DESCRIPTION} is damaged: its seal is not that of its content")
        for name, expected in description["sha256"].items():
            if sha256_of(folder / Path(name).name) != expected:
                raise DataError(f"{folder / name} is damaged: its checksum is not the stored one")
        vocabulary = Vocabulary(
            *(_read(folder / f"{n}.feather")["name"].to_pylist() for n in ("entities", "relations"))
        )
        dataset = Dataset(
            name=description["name"],
            vocabulary=vocabulary,
            axis=TimeAxis(**description["time"]),
            **{split: _facts(folder / f"{split}.feather") for split in SPLITS},
        )
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowInvalid) as error:
        raise DataError(f"{folder} is not a readable dataset: {error}") from error
    # The files are verified above, so the stored content checksum can be trusted and need not be computed again.
    dataset.__dict__["checksum"] = description["checksum"]
    return dataset


def is_stored_dataset(folder: Path) -> bool:
    """Whether a folder looks like a stored dataset."""
    return (folder / DESCRIPTION).is_file()


def _seal(description: dict[str, Any]) -> str:
    """SHA-256 of a description, which is kept in it: the dates of the facts hang on a few of its bytes."""
    return hashlib.sha256(to_toml(description).encode()).hexdigest()


def _write(path: Path, columns: dict[str, np.ndarray | pa.Array]) -> None:
    # Uncompressed, so that a reader can map the columns into memory.
    feather.write_feather(pa.table(columns), str(path), compression="uncompressed", chunksize=2**31 - 1)


def _read(path: Path) -> pa.Table:
    return feather.read_table(str(path), memory_map=True)


def _facts(path: Path) -> Facts:
    table = _read(path)
    # Combining chunks copies them, also if there is only one.
    columns = (
        table[name].chunk(0) if table[name].num_chunks == 1 else table[name].combine_chunks() for name in COLUMNS
    )
    return Facts(*(column.to_numpy(zero_copy_only=True) for column in columns))
