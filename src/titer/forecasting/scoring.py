"""Scores of a batch of queries, and the ranking by them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model, check_scores


@dataclass(frozen=True)
class Scored:
    """The scores and probabilities of all entities as answers to a batch of queries."""

    queries: Queries
    scores: Tensor  # (queries, entities)
    probabilities: Tensor  # (queries, entities)
    has_past: Tensor  # (queries,) whether the subject has an earlier fact
    by_relation: Tensor  # (queries,) whether the relation's past answers replace the model's scores

    def best(self, top: int) -> Tensor:
        """Return the best answers, best first; ties are in the order of the vocabulary. (queries, top)"""
        # These integers have the order of the scores. With the entity in the low bits, no two are equal.
        bits = (self.scores.float() + 0.0).view(torch.int32).long()
        order = torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
        last = self.scores.shape[1] - 1
        unique = (order << 32) + (last - torch.arange(last + 1, device=order.device))
        return unique.topk(min(top, last + 1), dim=1).indices

    def rank(self, row: int, entity: int) -> int | None:
        """Return the rank of one entity as the answer to one query; None if the model does not consider it."""
        scores = self.scores[row]
        own = scores[entity]
        if float(own) == UNREACHED:
            return None
        return 1 + int((scores > own).sum()) + int((scores[:entity] == own).sum())


@torch.inference_mode()
def score(model: Model, queries: Queries, history: History) -> Scored:
    """Score all entities with the model, or by the past answers of the relation where the model has no candidate.

    A model that walks from fact to fact has no candidate for an entity without facts. The score is then the share of
    the relation's past facts that have the entity as their answer. With n of N facts, the probability is n / (N + 1),
    which leaves some probability for entities that were never an answer.
    """
    queries = queries.to(model.device)
    scores = model.score(queries, history)
    check_scores(model, scores)
    probabilities = model.probabilities(scores)
    has_past = history.count_before(queries.subject, queries.time) > 0
    reached = (scores > UNREACHED).sum(dim=1) - (scores.gather(1, queries.subject[:, None])[:, 0] > UNREACHED).long()
    silent = ~has_past & (reached == 0)
    if bool(silent.any()):
        share, num_facts = history.popularity.share(queries[silent]), history.popularity.num_facts(queries[silent])
        scores, probabilities = scores.clone(), probabilities.clone()
        scores[silent] = torch.where(share > 0, share, UNREACHED)
        probabilities[silent] = share * (num_facts / (num_facts + 1))[:, None]
    return Scored(queries, scores, probabilities, has_past, silent)
