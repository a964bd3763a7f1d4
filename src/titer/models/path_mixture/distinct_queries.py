"""The distinct queries of each time step: facts with several answers ask the same query several times."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from titer.errors import DataError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.path_mixture.query_batch import QueryBatch

MAX_QUERIES = 1 << 63
"""Combinations of time step, subject and relation that an integer can number."""


@dataclass(frozen=True)
class Step:
    """The queries of one time step."""

    rows: Tensor  # (queries,) their rows, in the order of the distinct queries
    batch: QueryBatch  # the distinct queries
    place: Tensor | None  # (queries,) the position of each query in the batch, ascending; None for 0, 1, …


def distinct_steps(queries: Queries, history: History) -> list[Step]:
    """Return the distinct queries of each time step, in ascending order, with two waits for a GPU in all."""
    if len(queries) == 0:
        return []
    num_entities, num_relations = history.vocabulary.num_entities, history.vocabulary.num_directed_relations
    times, step = torch.unique(queries.time, return_inverse=True)
    if len(times) * num_entities * num_relations >= MAX_QUERIES:
        raise DataError(
            f"entities x relations is too large to score {len(times):,} time steps together; use smaller batches"
        )
    key, place = torch.unique(
        (step * num_entities + queries.subject) * num_relations + queries.relation, return_inverse=True
    )
    place, order = torch.sort(place)
    pair, relation = key // num_relations, key % num_relations
    of_key, subject = pair // num_entities, pair % num_entities
    number = torch.arange(len(times) + 1, device=key.device)
    first_key = torch.searchsorted(of_key, number)
    # Rows are in the order of their keys, and so of their time steps.
    first_row = torch.searchsorted(of_key.index_select(0, place), number)
    listed = torch.stack([first_key[:-1], first_row[:-1], times]).tolist()
    ends = [[*listed[0], len(key)], [*listed[1], len(place)]]
    found: list[Step] = []
    for time, keys, rows in zip(listed[2], *(pairwise(each) for each in ends), strict=True):
        batch = QueryBatch(subject[slice(*keys)], relation[slice(*keys)], time, history)
        is_distinct = rows[1] - rows[0] == len(batch)
        found.append(Step(order[slice(*rows)], batch, None if is_distinct else place[slice(*rows)] - keys[0]))
    return found
