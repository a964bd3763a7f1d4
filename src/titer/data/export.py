"""Facts of a dataset as a table file, in names and dates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from titer.data.dataset import SPLITS, Dataset
from titer.data.facts import Facts
from titer.errors import TiterError
from titer.files import atomic_path

FORMATS = (".csv", ".parquet")


def fact_table(dataset: Dataset, splits: Sequence[str] = SPLITS) -> pa.Table:
    """Return facts in names and dates, with a row for each fact.

    Args:
        dataset: The dataset.
        splits: The splits to return.

    Returns:
        The columns ``subject``, ``relation``, ``object``, ``time`` and ``split``.

    Raises:
        DataError: If a split does not exist.
    """
    parts = [dataset.split(name) for name in splits]
    facts = Facts.concatenate(*parts)
    vocabulary = dataset.vocabulary
    steps, place = np.unique(facts.time, return_inverse=True)
    which = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return pa.table(
        {
            "subject": names_of(facts.subject, vocabulary.entities),
            "relation": names_of(facts.relation, vocabulary.relations),
            "object": names_of(facts.object, vocabulary.entities),
            "time": names_of(place, [dataset.axis.label(int(step)) for step in steps]),
            "split": names_of(which, splits),
        }
    )


def question_table(dataset: Dataset, splits: Sequence[str] = ("test",)) -> pa.Table:
    """Return both questions of every fact, in the form that ``titer forecast --file`` reads.

    Args:
        dataset: The dataset.
        splits: The splits whose facts are asked about.

    Returns:
        The columns ``subject``, ``relation``, ``object``, ``time`` and ``answer``. What is asked for is empty.

    Raises:
        DataError: If a split does not exist.
    """
    facts = fact_table(dataset, splits)
    nothing = pa.nulls(len(facts), pa.string())
    kept = {"relation": facts["relation"], "time": facts["time"]}
    objects = pa.table({"subject": facts["subject"], "object": nothing, **kept, "answer": facts["object"]})
    subjects = pa.table({"subject": nothing, "object": facts["object"], **kept, "answer": facts["subject"]})
    return pa.concat_tables([objects, subjects]).select(["subject", "relation", "object", "time", "answer"])


def write_table(table: pa.Table, path: Path, *, overwrite: bool = False) -> None:
    """Write a table to a file, ``.csv`` or ``.parquet``.

    Args:
        table: The table.
        path: The file.
        overwrite: Replace an existing file.

    Raises:
        TiterError: If the format is unknown, or the file exists and may not be overwritten.
    """
    check_table_file(path, overwrite=overwrite)
    with atomic_path(path) as temporary:
        if path.suffix.lower() == ".csv":
            pacsv.write_csv(table, str(temporary))
        else:
            pq.write_table(table, temporary)


def check_table_file(path: Path, *, overwrite: bool = False) -> None:
    """Raise an error if a table cannot be written to a file.

    Args:
        path: The file.
        overwrite: Whether an existing file may be replaced.

    Raises:
        TiterError: If the format is unknown, or the file exists and may not be overwritten.
    """
    if path.suffix.lower() not in FORMATS:
        raise TiterError(f"{path}: unknown format {path.suffix!r}; use a name that ends in {' or '.join(FORMATS)}")
    if path.is_dir() or (path.exists() and not overwrite):
        raise TiterError(f"{path} already exists; choose another path or pass --overwrite")


def names_of(ids: NDArray[np.integer[Any]], names: Sequence[str]) -> pa.Array:
    """Return the names of ids as an Arrow column.

    Args:
        ids: Positions in ``names``. (rows,)
        names: The names.
    """
    return pa.DictionaryArray.from_arrays(pa.array(ids, pa.int32()), pa.array(names, pa.string())).dictionary_decode()
