"""The model's probabilities of objects (and subjects), for the pairs that are most likely to act."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.evaluation.batching import default_batch_size
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, evaluating

MIN_LOG = -20.0
"""Logarithm of the probability of an answer that the model gives none."""


@dataclass(frozen=True)
class PairAnswers:
    """Log probabilities of all entities as answers to some directed pairs (entity, relation), at one time."""

    pair: Tensor  # (pairs,) sorted keys: entity * num_directed + relation
    log_probability: Tensor  # (pairs, entities)

    def of(self, pair: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log probability of an answer to each pair, and which pairs were scored."""
        if len(self.pair) == 0:
            return torch.full(pair.shape, MIN_LOG, device=pair.device), torch.zeros_like(pair, dtype=torch.bool)
        place = torch.searchsorted(self.pair, pair).clamp(max=len(self.pair) - 1)
        known = self.pair[place] == pair
        return torch.where(known, self.log_probability[place, answer], MIN_LOG), known


@torch.inference_mode()
def score_pairs(model: Model, history: History, pair: Tensor, time: int) -> PairAnswers:
    """Score all entities as answers to directed pairs, with the facts before a time."""
    pair = torch.unique(pair)
    directed = history.vocabulary.num_directed_relations
    subject, relation = pair // directed, pair % directed
    parts: list[Tensor] = []
    with evaluating(model):
        for rows in torch.arange(len(pair), device=pair.device).split(default_batch_size(model.device)):
            queries = Queries(subject[rows], relation[rows], torch.full_like(rows, time))
            probability = model.probabilities(model.score(queries, history))
            parts.append(probability.clamp(min=1e-30).log().clamp(min=MIN_LOG))
    if not parts:
        return PairAnswers(pair, torch.zeros(0, history.vocabulary.num_entities, device=pair.device))
    return PairAnswers(pair, torch.cat(parts))
