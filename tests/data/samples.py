"""Small files in every format that titer reads."""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary

POINT: tuple[str, ...] = ("subject", "relation", "object", "time")
INTERVAL: tuple[str, ...] = ("subject", "relation", "object", "start", "end")
FORMATS = ("csv", "tsv", "csv.gz", "parquet", "feather", "jsonl")

Row = tuple[str, ...]

BENCHMARK = {
    "train.txt": "0\t0\t1\t0\n1\t1\t2\t24\n2\t0\t0\t48\n",
    "valid.txt": "0\t0\t1\t72\n",
    "test.txt": "1\t1\t0\t96\n",
    "entity2id.txt": "Ada\t0\nBen\t1\nCleo\t2\n",
    "relation2id.txt": "visit\t0\npraise\t1\n",
    "stat.txt": "3\t2\t0\n",
}


def write_benchmark(folder: Path, **changed: str | bytes | None) -> Path:
    """Write the folder above, with other content for some files (``None``: without the file)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (BENCHMARK | {f"{stem}.txt": content for stem, content in changed.items()}).items():
        if text is not None:
            (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def write_table(path: Path, rows: Sequence[Row], columns: Sequence[str] = POINT) -> Path:
    """Write rows of text in the format of the suffix of ``path``; empty text is written as a missing value."""
    by_column = {name: [row[i] or None for row in rows] for i, name in enumerate(columns)}
    match path.suffixes:
        case [".parquet"]:
            pq.write_table(pa.table({k: pa.array(v, pa.string()) for k, v in by_column.items()}), path)
        case [".feather"]:
            feather.write_feather(pa.table({k: pa.array(v, pa.string()) for k, v in by_column.items()}), str(path))
        case [".jsonl"]:
            lines = [json.dumps(dict(zip(columns, (v or None for v in row), strict=True))) for row in rows]
            path.write_text("".join(f"{line}\n" for line in lines))
        case _:
            text = io.StringIO(newline="")
            csv.writer(text, delimiter="\t" if ".tsv" in path.suffixes else ",").writerows([columns, *rows])
            content = text.getvalue().encode()
            path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def named(facts: Facts, vocabulary: Vocabulary, axis: TimeAxis) -> list[Row]:
    """Return facts as rows of names and dates."""
    entities, relations = vocabulary.entities, vocabulary.relations
    return [(entities[s], relations[r], entities[o], axis.label(t)) for s, r, o, t in facts]


def content(dataset: Dataset) -> Mapping[str, Counter[Row]]:
    """Return the named facts of each split, without ids and order."""
    return {name: Counter(named(facts, dataset.vocabulary, dataset.axis)) for name, facts in dataset.splits.items()}
