"""Scores of a batch of questions, and who is best by them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.errors import TiterError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model


@dataclass(frozen=True)
class Scored:
    """What a model says about a batch of questions."""

    queries: Queries
    scores: Tensor  # (queries, entities)
    probabilities: Tensor  # (queries, entities)
    has_past: Tensor  # (queries,) whether anything is known of the subject before the question
    by_relation: Tensor  # (queries,) whether the scores are the relation's past answers, and not the model's

    def best(self, top: int) -> Tensor:
        """The best answers, best first; of equally good ones the first in the vocabulary. (queries, top)"""
        # Scores are ordered like these integers; with the entity behind it no two of them are equal.
        bits = (self.scores.float() + 0.0).view(torch.int32).long()
        order = torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
        last = self.scores.shape[1] - 1
        unique = (order << 32) + (last - torch.arange(last + 1, device=order.device))
        return unique.topk(min(top, last + 1), dim=1).indices

    def rank(self, row: int, entity: int) -> int | None:
        """The rank of one entity as the answer to one question; none if nothing speaks for it."""
        scores = self.scores[row]
        own = scores[entity]
        if float(own) == UNREACHED:
            return None
        return 1 + int((scores > own).sum()) + int((scores[:entity] == own).sum())


@torch.inference_mode()
def score(model: Model, queries: Queries, history: History) -> Scored:
    """Let the model score questions; those that it has nothing to say about are answered by their relation.

    An agent that walks from fact to fact cannot leave an entity without facts. What is left then is how often each
    entity has been the answer to the relation so far: in n of N facts, which makes n / (N + 1) a probability, with
    something left for those who never were.
    """
    queries = queries.to(model.device)
    scores = model.score(queries, history)
    if bool(torch.isnan(scores).any()):
        raise TiterError(f"{model.name} scored some answers as NaN; nothing can be ranked by that")
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
