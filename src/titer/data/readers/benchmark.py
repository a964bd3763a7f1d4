"""Reader of the folder format of the published benchmarks: three files of numbered facts, and two dictionaries."""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from titer.data.benchmarks import identify
from titer.data.dataset import SPLITS, Dataset
from titer.data.facts import COLUMNS, Facts
from titer.data.readers.base import Batch
from titer.data.readers.delimited import DelimitedFile
from titer.data.readers.encoders import Encoder, IdEncoder, TimeEncoder, parse_integer
from titer.data.readers.rejections import Problem, Rejections, wrong_width
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError


def is_benchmark_folder(folder: Path) -> bool:
    """Return whether a folder has at least one split in the benchmark format."""
    return any((folder / f"{split}.txt").is_file() for split in SPLITS)


def read_benchmark(folder: Path, rejections: Rejections | None = None, name: str | None = None) -> Dataset:
    """Read ``train.txt``, ``valid.txt``, ``test.txt``, ``entity2id.txt`` and ``relation2id.txt``.

    If the files are those of a published benchmark, the dataset has its name and dates. Otherwise it has the name of
    the folder and counts time in plain numbers.
    """
    rejections = rejections if rejections is not None else Rejections()
    files = {stem: folder / f"{stem}.txt" for stem in (*SPLITS, "entity2id", "relation2id")}
    for stem, path in files.items():
        if not path.is_file():
            raise DataError(f"{folder}: no {path.name}" + (" (a missing split)" if stem in SPLITS else ""))
    vocabulary = Vocabulary(_read_dictionary(files["entity2id"]), _read_dictionary(files["relation2id"]))
    raw = {split: _read_split(files[split], vocabulary, rejections) for split in SPLITS}
    rejections.check()
    if not any(rows.size for rows in raw.values()):
        raise DataError(f"{folder}: no facts were read: every row was rejected")
    known = identify(folder)
    written = known.raw_axis if known else TimeAxis.of_integers(np.concatenate([rows[3] for rows in raw.values()]))
    axis = known.axis if known else written
    splits = {
        split: Facts(subject, relation, object, written.steps_of_integers(time))
        for split, (subject, relation, object, time) in raw.items()
    }
    default_name = known.name if known else folder.resolve().name
    return Dataset(name or default_name, vocabulary, axis, *splits.values())


def _read_split(path: Path, vocabulary: Vocabulary, rejections: Rejections) -> NDArray[np.int64]:
    """Return subjects, relations, objects and times as numbers; times as in the file (4, facts)."""
    file = DelimitedFile(path, "\t")
    width = file.width()
    if width < len(COLUMNS):
        raise DataError(f"{path}, row 1: {wrong_width(width, len(COLUMNS))}")
    file.names = [*COLUMNS, *(f"column {i + 1}" for i in range(len(COLUMNS), width))]
    rejections.sources[file.name] = partial(DelimitedFile, path, "\t", file.names)
    times = TimeEncoder(TimeUnit.INTEGER)
    encoders: dict[str, Encoder] = {
        "subject": (entities := IdEncoder(vocabulary.num_entities, "entity")),
        "relation": IdEncoder(vocabulary.num_relations, "relation"),
        "object": entities,
        "time": times,
    }
    chunks = [np.empty((4, 0), dtype=np.int64)]
    for batch in file.batches(list(COLUMNS), rejections):
        rejections.num_rows += len(batch.rows)
        chunks.append(_codes(path, batch, encoders, rejections))
    rows = np.concatenate(chunks, axis=1)
    rows[3] = np.array(times.first)[rows[3]]
    return rows


def _codes(path: Path, batch: Batch, encoders: dict[str, Encoder], rejections: Rejections) -> NDArray[np.int64]:
    codes = np.stack([encoders[part].encode(column) for part, column in batch.columns.items()])
    problems = []
    for position in np.flatnonzero((codes < 0).any(axis=0)):
        part = COLUMNS[int(np.argmax(codes[:, position] < 0))]
        reason = encoders[part].reason(int(codes[COLUMNS.index(part), position]))
        problems.append(Problem(str(path), int(batch.rows[position]), part, reason, batch.text(int(position))))
    rejections.add(problems)
    return codes[:, (codes >= 0).all(axis=0)]


def _read_dictionary(path: Path) -> list[str]:
    """Return the names in the order of their ids; columns after the id are ignored."""
    names: dict[int, str] = {}
    rows: dict[str, int] = {}
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        row = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, row {row}: not UTF-8 text") from error
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, *rest = (field.strip() for field in line.split("\t"))
        if not rest:
            raise DataError(f"{path}, row {row}: 1 column instead of a name and an id")
        if not name:
            raise DataError(f"{path}, row {row}, column 'name': empty")
        try:
            identifier = parse_integer(rest[0])
        except DataError as error:
            raise DataError(f"{path}, row {row}, column 'id': {error}") from None
        if identifier in names:
            raise DataError(f"{path}, row {row}, column 'id': id {identifier} is already that of {names[identifier]!r}")
        if name in rows:
            raise DataError(f"{path}, row {row}, column 'name': {name!r} is already in row {rows[name]}")
        names[identifier], rows[name] = name, row
    if not names:
        raise DataError(f"{path}: the file is empty")
    if sorted(names) != list(range(len(names))):
        missing = next(i for i in range(len(names)) if i not in names)
        raise DataError(f"{path}: ids must be 0 to {len(names) - 1}, but {missing} has no name")
    return [names[i] for i in range(len(names))]
