"""Generated folders in the format of TGB 2.0, small ones for tests."""

import csv
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIDNIGHT = 18_000
"""Seconds from midnight in UTC to midnight where the files are made, without summer time."""


def write_tgb(
    folder: Path,
    name: str = "tkgl-toy",
    *,
    seed: int = 0,
    num_facts: int = 400,
    num_entities: int = 30,
    num_relations: int = 4,
    num_steps: int = 20,
    static: int = 0,
    numbered: bool = False,
) -> Path:
    """Write an edge list with ids as in Wikidata and years, or with numbers and midnights with summer time."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    head, tail = (rng.integers(0, num_entities, num_facts) for _ in range(2))
    relation, step = rng.integers(0, num_relations, num_facts), np.sort(rng.integers(0, num_steps, num_facts))
    relation[:num_relations] = np.arange(num_relations)
    if numbered:
        day = 17_500 + step
        time = day * 86_400 + MIDNIGHT - 3600 * (step % 7 > 3)
    else:
        time = 1900 + step
    nodes = (lambda i: str(i + 100)) if numbered else (lambda i: f"Q{i + 100}")
    kinds = str if numbered else (lambda i: f"P{i + 30}")
    rows = [[int(t), nodes(s), nodes(o), kinds(r)] for t, s, o, r in zip(time, head, tail, relation, strict=True)]
    _write(folder / f"{name}_edgelist.csv", ["ts", "head", "tail", "relation_type"], rows)
    if static:
        extra = [
            [nodes(int(s)), nodes(int(o)), kinds(int(r))]
            for s, o, r in zip(
                rng.integers(0, num_entities + 10, static),
                rng.integers(0, num_entities + 10, static),
                rng.integers(num_relations - 1, num_relations + 2, static),
                strict=True,
            )
        ]
        _write(folder / f"{name}_static_edgelist.csv", ["head", "tail", "relation_type"], extra)
    return folder


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def dump_candidates(path: Path, sets: dict[tuple[int, int, int], NDArray[np.int64]], protocol: int = 5) -> None:
    """Write a candidate file as TGB does: keys are numpy numbers."""
    keyed = {tuple(np.int64(part) for part in key): value for key, value in sets.items()}
    path.write_bytes(pickle.dumps(keyed, protocol=protocol))
