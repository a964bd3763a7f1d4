"""Reader of TGB edge lists. Its ids of entities and relations are those of TGB, which the candidate files refer to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from titer.counted import counted
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.tgb.catalogue import STATIC, edge_file, static_file
from titer.data.tgb.time import axis_of, one_step_earlier, steps_of
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError

VALID_SHARE = TEST_SHARE = 0.15


def tgb_name(folder: Path) -> str | None:
    """Return the name of the dataset whose edge list is in a folder; None if there is no edge list, or several."""
    found = [path.name.removesuffix("_edgelist.csv") for path in folder.glob("*_edgelist.csv")]
    names = [name for name in found if not name.endswith("_static")]
    return names[0] if len(names) == 1 else None


def read_tgb(
    folder: Path,
    *,
    static: bool = False,
    entity_names: dict[str, str] | None = None,
    relation_names: dict[str, str] | None = None,
) -> Dataset:
    """Read the edge list of a TGB temporal knowledge graph, with the splits of TGB.

    Args:
        folder: The folder with ``NAME_edgelist.csv``: time, head, tail and relation in this order, after a header.
        static: Include the facts of ``NAME_static_edgelist.csv``, which have no time. They are training facts one time
            step before all others.
        entity_names: Names to show, by the identifier of an entity in the file.
        relation_names: Names to show, by the identifier of a relation in the file.

    Returns:
        The dataset. Its name ends with ``+static`` if it has static facts.

    Raises:
        DataError: If the folder has no edge list, or a row cannot be read.
    """
    name = tgb_name(folder)
    if name is None:
        raise DataError(f"{folder}: not a TGB dataset: it needs one file NAME_edgelist.csv")
    table = _read_columns(folder / edge_file(name), ["time", "subject", "object", "relation"])
    if table.num_rows == 0:
        raise DataError(f"{folder / edge_file(name)}: no edges")
    if table["time"].null_count:
        raise DataError(f"{folder / edge_file(name)}: an edge has no time")
    time = table["time"].to_numpy()
    numbered = all(_is_integer(table[column]) for column in ("subject", "object", "relation"))
    entities = _Ids()
    subject, object = entities.of_pairs(_labels(table["subject"], numbered), _labels(table["object"], numbered))
    relations = _Ids()
    if numbered:
        relation = table["relation"].cast(pa.int64()).to_numpy()
        if relation.min() < 0 or relation.max() > len(relation):
            raise DataError(f"{folder / edge_file(name)}: relations must be numbered from 0")
        relations.labels = [str(i) for i in range(int(relation.max()) + 1)]
    else:
        relation = relations.of(_labels(table["relation"], numbered))
    axis = axis_of(time)
    parts = [Facts(subject, relation, object, steps_of(time, axis)).sorted_by_time()[rows] for rows in _splits(time)]
    if static:
        axis, parts = one_step_earlier(axis), [
            Facts(part.subject, part.relation, part.object, part.time + 1) for part in parts
        ]  # fmt: skip
        extra = _read_columns(folder / static_file(name), ["subject", "object", "relation"])
        heads, tails = entities.of_pairs(_labels(extra["subject"], numbered), _labels(extra["object"], numbered))
        kinds = relations.of(_labels(extra["relation"], numbered))
        parts[0] = Facts.concatenate(Facts(heads, kinds, tails, np.zeros(len(kinds), np.int64)), parts[0])
    vocabulary = Vocabulary(
        _named(entities.labels, entity_names or {}, "entity " if numbered else ""),
        _named(relations.labels, relation_names or {}, "relation " if numbered else ""),
    )
    return Dataset(name + (STATIC if static else ""), vocabulary, axis, *parts)


def read_names(path: Path) -> dict[str, str]:
    """Read a dictionary: a CSV file, or TSV if its name ends so, with an identifier and a name in each row.

    Args:
        path: The file. A header row does no harm: it names an identifier that does not occur.

    Raises:
        DataError: If a row has fewer than two columns.
    """
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".txt") else ","
    table = _read_columns(path, ["id", "name"], delimiter=delimiter, has_header=False)
    return dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))


@dataclass(frozen=True)
class TgbSizes:
    """How TGB counts a dataset: static facts, and what only they mention, do not count."""

    entities: int
    """The entities that are candidates: those with ids below this number."""
    relations: int
    """The relations in use. TGB adds this number to the id of a relation for its inverse."""


def tgb_sizes(dataset: Dataset) -> TgbSizes:
    """Return the numbers of entities and relations as TGB counts them.

    Args:
        dataset: A dataset of ``read_tgb``.
    """
    facts = dataset.facts
    if dataset.name.endswith(STATIC):
        facts = facts[facts.time > 0]
    entities = 1 + int(max(facts.subject.max(), facts.object.max()))
    return TgbSizes(entities, int(np.count_nonzero(np.bincount(facts.relation))))


class _Ids:
    """Numbers for labels, in the order of their first appearance."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def of(self, column: pa.Array) -> NDArray[np.int64]:
        """Return the ids of a column; new labels get the next ones."""
        known = pa.array(self.labels, pa.string())
        whole = pa.concat_arrays([known, column]).dictionary_encode()
        self.labels = whole.dictionary.to_pylist()
        return whole.indices.to_numpy()[len(known) :].astype(np.int64)

    def of_pairs(self, first: pa.Array, second: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids of two columns, numbered row by row."""
        num_known = len(self.labels)
        codes = np.stack(np.split(self.of(pa.concat_arrays([first, second])), 2), axis=1)
        flat = codes.reshape(-1)
        # Of several values that are assigned to one place the last one stays: here the first position.
        position = np.zeros(len(self.labels), dtype=np.int64)
        position[flat[::-1]] = np.arange(len(flat))[::-1]
        order = np.concatenate([np.arange(num_known), num_known + np.argsort(position[num_known:], kind="stable")])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self.labels = [self.labels[i] for i in order.tolist()]
        return rank[codes[:, 0]], rank[codes[:, 1]]


def _splits(time: NDArray[np.int64]) -> list[slice]:
    """Return the rows of the splits among the facts in order of time: TGB cuts at quantiles of all times."""
    shares = [1 - VALID_SHARE - TEST_SHARE, 1 - TEST_SHARE]
    # TGB computes the quantiles of both directions together, which interpolates at another place.
    cuts = np.quantile(np.concatenate([time, time]), shares)
    first, second = np.searchsorted(np.sort(time), cuts, side="right").tolist()
    return [slice(0, first), slice(first, second), slice(second, len(time))]


def _read_columns(path: Path, names: list[str], *, delimiter: str = ",", has_header: bool = True) -> pa.Table:
    """Read the first columns of a text file under the given names; a time is an integer, all others are text."""
    try:
        with path.open(encoding="utf-8") as file:
            width = len(file.readline().split(delimiter))
        if width < len(names):
            raise DataError(f"{path}: {counted(width, 'column')} instead of {len(names)}: {', '.join(names)}")
        columns = [*names, *(f"column {i + 1}" for i in range(len(names), width))]
        return csv.read_csv(
            path,
            csv.ReadOptions(column_names=columns, skip_rows=int(has_header), block_size=1 << 24),
            csv.ParseOptions(delimiter=delimiter),
            csv.ConvertOptions(
                include_columns=names,
                column_types={name: pa.int64() if name == "time" else pa.string() for name in names},
            ),
        )
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise DataError(f"{path} cannot be read: {error}") from error


def _is_integer(column: pa.ChunkedArray) -> bool:
    try:
        column.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def _labels(column: pa.ChunkedArray, numbered: bool) -> pa.Array:
    # TGB compares numbers: 7 and 07 are the same.
    column = column.cast(pa.int64()).cast(pa.string()) if numbered else column
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _named(labels: list[str], names: dict[str, str], prefix: str) -> list[Any]:
    """Return the name of each label; a name that several labels have is followed by the label."""
    found = [names.get(label) or prefix + label for label in labels]
    counts: dict[str, int] = {}
    for name in found:
        counts[name] = counts.get(name, 0) + 1
    return [f"{name} ({label})" if counts[name] > 1 else name for name, label in zip(found, labels, strict=True)]
