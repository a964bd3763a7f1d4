"""Generated facts with the shape of real event data, for measurements of cost."""

import numpy as np
from numpy.typing import NDArray

from titer.data.facts import Facts

NUM_STEPS = 3650
"""Days that the facts span: ten years."""
NUM_RELATIONS = 250
MEAN_REPEATS = 4
"""Facts of a series on average: how often the same fact is repeated."""
MEAN_GAPS = (1.0, 1.5, 7.0, 30.0, 180.0)
"""Days between two facts of a series on average: two kinds of bursts, then slower rhythms."""
SKEW = 4.0
"""Entities are drawn by the power of a uniform number: their frequencies follow Zipf's law with exponent 1 - 1/SKEW."""
SHARE_OF_NEW = 0.4
"""Share of the entities whose first fact may be later than the first day."""


def generated_facts(
    num_facts: int,
    num_entities: int,
    seed: int = 0,
    *,
    num_steps: int = NUM_STEPS,
    num_relations: int = NUM_RELATIONS,
) -> Facts:
    """Return facts in order of time.

    A few entities have most of the facts, as in Zipf's law. Facts belong to series (subject, relation, object) that
    begin on some day and repeat in a rhythm of their own; most are short, some very long. Some entities appear only
    in the course of time.

    Args:
        num_facts: How many facts to generate.
        num_entities: From how many entities to draw.
        seed: The seed of all randomness.
        num_steps: How many time steps the facts span.
        num_relations: From how many relations to draw.
    """
    rng = np.random.default_rng(seed)
    born = np.where(rng.random(num_entities) < SHARE_OF_NEW, rng.integers(0, num_steps, num_entities), 0)
    rank = rng.permutation(num_entities).astype(np.int32)
    parts: list[tuple[NDArray[np.int32], ...]] = []
    missing = num_facts
    while missing > 0:
        part = _facts_of_series(rng, max(missing // MEAN_REPEATS, 1), num_steps, num_relations, born, rank)
        parts.append(tuple(column[:missing] for column in part))
        missing -= len(parts[-1][0])
    subject, relation, object, time = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    # Days have 16 bits, for which a stable sort takes linear time.
    order = np.argsort(time.astype(np.int16), kind="stable")
    return Facts(subject[order], relation[order], object[order], time[order])


def _facts_of_series(
    rng: np.random.Generator,
    num_series: int,
    num_steps: int,
    num_relations: int,
    born: NDArray[np.integer],
    rank: NDArray[np.int32],
) -> tuple[NDArray[np.int32], ...]:
    """Return all facts of some new series, those of one series together."""
    num_entities = len(rank)
    subject, object = (rank[(num_entities * rng.random(num_series) ** SKEW).astype(np.int64)] for _ in range(2))
    relation = (num_relations * rng.random(num_series) ** SKEW).astype(np.int32)
    start = np.maximum(born[subject], born[object])
    start = (start + (num_steps - start) * rng.random(num_series)).astype(np.int32)
    repeats = np.minimum(1 + rng.pareto(1.2, num_series) * MEAN_REPEATS / 4, num_steps).astype(np.int64)
    gap = np.asarray(MEAN_GAPS, dtype=np.float32)[rng.integers(0, len(MEAN_GAPS), num_series)]
    series = np.repeat(np.arange(num_series, dtype=np.int32), repeats)
    first = np.cumsum(repeats) - repeats
    gaps = np.ceil(
        rng.exponential(
            size=len(series),
        ).astype(np.float32)
        * gap[series]
    ).astype(np.int32)
    gaps[first] = 0
    elapsed = np.cumsum(gaps, dtype=np.int64)
    time = start[series] + (elapsed - elapsed[first][series])
    kept = (time < num_steps).nonzero()[0]
    series = series[kept]
    return subject[series], relation[series], object[series], time[kept].astype(np.int32)
