"""Generated folders in the format of TGB 2.0, of the sizes of its temporal knowledge graphs."""

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from generated_facts import generated_facts
from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.tgb.catalogue import TgbBenchmark, edge_file, static_file
from titer.data.tgb.reader import tgb_sizes
from titer.data.time_axis import TimeUnit
from titer.evaluation.task import EvaluationTask

DAY = 86_400
FIRST_DAY = 17_532
STATIC_SHARE = 1.8
"""Static facts for each dated one, as in tkgl-smallpedia."""


def write_edges(benchmark: TgbBenchmark, folder: Path, scale: float = 1.0, seed: int = 0) -> Facts:
    """Write the edge lists of a dataset, with as many facts, entities, relations and time steps as the real one.

    Args:
        benchmark: The dataset whose sizes to use.
        folder: The folder to write to.
        scale: Factor of the numbers of facts and entities, for trials.
        seed: The seed of all randomness.
    """
    folder.mkdir(parents=True, exist_ok=True)
    num_facts, num_entities = (max(int(scale * size), 50) for size in (benchmark.facts, benchmark.entities))
    facts = generated_facts(num_facts, num_entities, seed, num_steps=benchmark.steps, num_relations=benchmark.relations)
    facts = _with_all_entities(facts, num_entities, np.random.default_rng(seed))
    if benchmark.has_static:
        entity, relation, time = "Q", "P", 1900 + facts.time if benchmark.steps < 500 else facts.time
        static = generated_facts(int(STATIC_SHARE * num_facts), num_entities, seed + 1, num_relations=500)
        columns = {"head": _labels("Q", static.subject), "tail": _labels("Q", static.object)}
        _write(folder / static_file(benchmark.name), {**columns, "relation_type": _labels("P", static.relation)})
    else:
        entity, relation, time = "", "", (FIRST_DAY + facts.time) * DAY
    columns = {"head": _labels(entity, facts.subject), "tail": _labels(entity, facts.object)}
    columns = {"timestamp": pa.array(time), **columns, "relation_type": _labels(relation, facts.relation)}
    _write(folder / edge_file(benchmark.name), columns)
    return facts


def write_candidates(task: EvaluationTask, path: Path, num_negatives: int | None, seed: int = 0) -> int:
    """Write the candidate file for some queries of a split, and return its number of keys.

    Args:
        task: The queries, of a dataset of ``read_tgb``.
        path: The file.
        num_negatives: How many candidates each key has; None for exclusion sets.
        seed: The seed of all randomness.
    """
    dataset, vocabulary, sizes = task.dataset, task.dataset.vocabulary, tgb_sizes(task.dataset)
    relation = vocabulary.undirected(task.queries.relation)
    relation = relation + vocabulary.is_inverse(task.queries.relation) * sizes.relations
    keys = zip(_raw_times(dataset, task), task.queries.subject.numpy(), relation.numpy(), strict=True)
    rng, sets = np.random.default_rng(seed), {}
    if num_negatives is not None:
        for key in keys:
            sets[key] = rng.choice(sizes.entities, num_negatives, replace=False, shuffle=False)
    else:
        row, answer = (part.cpu().numpy() for part in task.true_answers.of(task.queries.to(task.device)))
        parts = np.split(answer, np.cumsum(np.bincount(row, minlength=len(task.queries)))[:-1])
        sets = dict(zip(keys, parts, strict=True))
    with path.open("wb") as file:
        pickle.dump(sets, file, protocol=pickle.HIGHEST_PROTOCOL)
    return len(sets)


def _raw_times(dataset: Dataset, task: EvaluationTask) -> np.ndarray:
    steps = task.queries.time.numpy()
    if dataset.axis.unit is TimeUnit.DAY:
        return (int(np.datetime64(str(dataset.axis.origin)).astype(np.int64)) + steps) * DAY
    return int(dataset.axis.origin) + steps


def _with_all_entities(facts: Facts, num_entities: int, rng: np.random.Generator) -> Facts:
    """Return the facts with entities that have none in the place of some objects."""
    while len(missing := np.flatnonzero(~facts.mentions(num_entities))):
        object = facts.object.copy()
        # The replaced entity may have no other fact, so this is repeated.
        rows = rng.choice(len(facts), min(len(missing), len(facts) // 2), replace=False)
        object[rows] = missing[: len(rows)]
        facts = Facts(facts.subject, facts.relation, object, facts.time)
    return facts


def _labels(prefix: str, ids: np.ndarray) -> pa.Array:
    distinct, place = np.unique(ids, return_inverse=True)
    names = pa.array([f"{prefix}{i}" for i in distinct.tolist()])
    return pa.DictionaryArray.from_arrays(pa.array(place, pa.int32()), names).dictionary_decode()


def _write(path: Path, columns: dict[str, pa.Array]) -> None:
    csv.write_csv(pa.table(columns), str(path), csv.WriteOptions(quoting_style="none"))
