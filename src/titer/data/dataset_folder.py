"""Dataset folders: Feather files with the columns, and a TOML file with their checksums."""

import hashlib
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather

from titer.data.attributes import Attributes
from titer.data.dataset import SPLITS, Dataset
from titer.data.facts import COLUMNS, Facts
from titer.data.readers.options import TableOptions
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.files import atomic_directory, locked, sha256_of, write_text
from titer.toml import to_toml

DESCRIPTION = "dataset.toml"
FORMAT = 1
RUN_DATASET, RUN_CONFIG = "dataset", "config.toml"
"""The dataset folder of a run directory, and a file that is beside it."""


def save_dataset(dataset: Dataset, folder: Path, *, overwrite: bool = False) -> None:
    """Write a dataset folder, completely or not at all.

    Args:
        dataset: The dataset.
        folder: The folder to create.
        overwrite: Replace the folder if it exists.

    Raises:
        TiterError: If the folder exists and ``overwrite`` is not set, or another process is writing it.
    """
    lock = folder.with_name(f".{folder.name}.lock")
    with locked(lock, folder), atomic_directory(folder, overwrite=overwrite) as temporary:
        written = 0
        for name, facts in dataset.splits.items():
            extra = dataset.attributes.slice(written, len(facts)) if dataset.attributes is not None else {}
            _write(temporary / f"{name}.feather", {**dict(zip(COLUMNS, facts.columns, strict=True)), **extra})
            written += len(facts)
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
            "import": dataset.mapping.to_dict() if dataset.mapping is not None else None,
            "sha256": {path.name: sha256_of(path) for path in sorted(temporary.iterdir())},
        }
        description = {key: value for key, value in description.items() if value is not None}
        write_text(temporary / DESCRIPTION, to_toml({"seal": _seal(description), **description}))


def open_dataset(folder: Path) -> Dataset:
    """Open a dataset folder. The facts are memory-mapped.

    Args:
        folder: The folder.

    Raises:
        DataError: If a file is missing or was changed.
    """
    try:
        description = tomllib.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if description["format"] != FORMAT:
            raise DataError(
                f"{folder} has format {description['format']}, but this version of titer reads format {FORMAT}"
            )
        if description.pop("seal") != _seal(description):
            raise DataError(f"{folder / DESCRIPTION} is damaged: its seal does not match its content")
        for name, expected in description["sha256"].items():
            if sha256_of(folder / Path(name).name) != expected:
                raise DataError(f"{folder / name} is damaged: its checksum does not match")
        vocabulary = Vocabulary(
            *(_read(folder / f"{n}.feather")["name"].to_pylist() for n in ("entities", "relations"))
        )
        dataset = Dataset(
            name=description["name"],
            vocabulary=vocabulary,
            axis=TimeAxis(**description["time"]),
            mapping=TableOptions.from_dict(description["import"]) if "import" in description else None,
            attributes=Attributes.from_tables([_read(folder / f"{split}.feather") for split in SPLITS]),
            **{split: _facts(folder / f"{split}.feather") for split in SPLITS},
        )
    except (OSError, KeyError, ValueError, TypeError, OverflowError, RecursionError, pa.ArrowException) as error:
        raise DataError(f"{folder} is not a readable dataset folder: {error}") from error
    # The files are verified above, so the stored checksum of the content is right.
    dataset.__dict__["checksum"] = description["checksum"]
    dataset.__dict__["folder"] = folder
    return dataset


def read_mapping(folder: Path) -> TableOptions | None:
    """Return how the files of a dataset folder were read; ``None`` if it was not imported, or cannot be opened."""
    try:
        description = tomllib.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        return TableOptions.from_dict(description["import"])
    except (OSError, KeyError, ValueError, TypeError, DataError):
        return None


def is_stored_dataset(folder: Path) -> bool:
    """Return whether a folder is a dataset folder."""
    return (folder / DESCRIPTION).is_file()


def is_in_run(folder: Path) -> bool:
    """Return whether a dataset folder is the copy that a run directory keeps."""
    return folder.name == RUN_DATASET and folder.with_name(RUN_CONFIG).is_file()


def _seal(description: dict[str, Any]) -> str:
    """Return the SHA-256 of a description, which is stored in it: a changed byte could change all dates."""
    return hashlib.sha256(to_toml(description).encode()).hexdigest()


def _write(path: Path, columns: dict[str, np.ndarray | pa.Array]) -> None:
    # Only uncompressed columns can be memory-mapped.
    feather.write_feather(pa.table(columns), str(path), compression="uncompressed", chunksize=2**31 - 1)


def _read(path: Path) -> pa.Table:
    table = feather.read_table(str(path), memory_map=True)
    # A folder of someone else may have correct checksums and columns that point outside of the file.
    table.validate(full=True)
    return table


def _facts(path: Path) -> Facts:
    table = _read(path)
    # Combining chunks copies them, even if there is only one.
    columns = (
        table[name].chunk(0) if table[name].num_chunks == 1 else table[name].combine_chunks() for name in COLUMNS
    )
    return Facts(*(column.to_numpy(zero_copy_only=True) for column in columns))
