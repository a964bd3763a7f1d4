"""What happened lately."""

import torch

from titer.forecasting.forecast import PastFact
from titer.forecasting.predictor import Predictor
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS
from titer.models.evidence import Edge


def latest_facts(predictor: Predictor, entity: int | None, relation: int | None, limit: int) -> tuple[PastFact, ...]:
    """Return the latest known facts, latest first; those of one time step in the order of the vocabulary."""
    history, vocabulary = predictor.history, predictor.vocabulary
    key, relations, objects = history.key[:-1], history.relation[:-1], history.object[:-1]
    subjects, elapsed = key >> TIME_BITS, key & LAST_STEP
    chosen = relations < vocabulary.num_relations
    if relation is not None:
        chosen = chosen & (relations == relation)
    if entity is not None:
        chosen = chosen & ((subjects == entity) | (objects == entity))
    rows = chosen.nonzero()[:, 0]
    best = rows[torch.sort(elapsed[rows], descending=True, stable=True).indices[:limit]]
    asked = predictor.last_time + 1
    columns = (column[best].tolist() for column in (subjects, relations, objects, elapsed))
    return tuple(
        predictor.describe(Edge(s, r, o, e + history.first_time), asked) for s, r, o, e in zip(*columns, strict=True)
    )
