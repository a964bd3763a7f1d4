"""Scores of a batch of queries, and the ranking by them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model, check_scores
from titer.models.scores import DenseScores, Scores


@dataclass(frozen=True)
class Scored:
    """The scores of all entities as answers to a batch of queries, and what turns them into probabilities."""

    queries: Queries
    scores: Scores
    model: Model
    normaliser: Tensor  # (queries,) log of the sum of exp(logit / temperature) over all entities
    has_past: Tensor  # (queries,) whether the subject has an earlier fact
    by_relation: Tensor  # (queries,) whether the relation's past answers replace the model's scores
    share_known: Tensor  # (queries,) the probability that the answer is among the relation's past answers

    @torch.inference_mode()
    def best(self, top: int) -> Tensor:
        """Return the best answers, best first; ties are in the order of the vocabulary. (queries, top)"""
        last = self.scores.num_entities - 1
        kept: Tensor | None = None
        for block in self.scores.blocks():
            # These integers have the order of the scores. With the entity in the low bits, no two are equal.
            bits = (block.values.float() + 0.0).view(torch.int32).long()
            order = torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
            entity = self.scores.entity(torch.arange(block.start, block.end, device=order.device))
            unique = (order << 32) + (last - entity)
            unique = unique if kept is None else torch.cat([kept, unique], dim=1)
            kept = unique.topk(min(top, unique.shape[1]), dim=1).values
        assert kept is not None
        return last - (kept & 0xFFFFFFFF)

    @torch.inference_mode()
    def rank(self, row: int, entity: int) -> int | None:
        """Return the rank of one entity as the answer to one query; None if the model does not consider it."""
        own, _ = self.one(row, entity)
        if own == UNREACHED:
            return None
        rank = 1
        for block in self.scores.blocks():
            values = block.values[row]
            ids = self.scores.entity(torch.arange(block.start, block.end, device=values.device))
            rank += int((values > own).sum()) + int(((values == own) & (ids < entity)).sum())
        return rank

    @torch.inference_mode()
    def at(self, entities: Tensor, first_row: int = 0) -> tuple[Tensor, Tensor]:
        """Return the scores and the probabilities of some entities for each query.

        Args:
            entities: Entity ids for the queries from ``first_row`` on. Shape ``(queries, entities)``.
            first_row: The first of the queries.

        Returns:
            Two tensors of the same shape.
        """
        rows = first_row + torch.arange(len(entities), device=entities.device)
        row = rows[:, None].expand_as(entities).reshape(-1)
        scores = self.scores.at(row, entities.reshape(-1))
        normaliser = self.normaliser.index_select(0, row)
        probability = torch.exp(self.model.logits(scores) / self.model.temperature - normaliser)
        by_relation = scores * self.share_known.index_select(0, row)
        probability = torch.where(self.by_relation.index_select(0, row), by_relation, probability)
        probability = torch.where(scores > UNREACHED, probability, 0.0)
        return scores.view(entities.shape), probability.view(entities.shape)

    def one(self, row: int, entity: int) -> tuple[float, float]:
        """Return the score and the probability of one entity as the answer to one query."""
        score, probability = self.at(torch.tensor([[entity]], device=self.has_past.device), row)
        return float(score), float(probability)


@torch.inference_mode()
def score(model: Model, queries: Queries, history: History) -> Scored:
    """Score all entities with the model, or by the past answers of the relation where the model has no candidate.

    A model that walks from fact to fact has no candidate for an entity without facts. The score is then the share of
    the relation's past facts that have the entity as their answer. With n of N facts, the probability is n / (N + 1),
    which leaves some probability for entities that were never an answer.
    """
    queries = queries.to(model.device)
    scores = model.scores(queries, history)
    num_reached = torch.zeros(len(queries), dtype=torch.int64, device=model.device)
    sums: list[Tensor] = []
    for block in scores.blocks():
        check_scores(model, block.values)
        num_reached += (block.values > UNREACHED).sum(dim=1)
        sums.append(torch.logsumexp(model.logits(block.values) / model.temperature, dim=1))
    normaliser = torch.logsumexp(torch.stack(sums), dim=0)
    has_past = history.count_before(queries.subject, queries.time) > 0
    share_known = torch.ones(len(queries), device=model.device)
    silent = ~has_past & (num_reached <= 1)
    if bool(silent.any()):
        rows = torch.arange(len(queries), device=model.device)
        of_subject = scores.at(rows, queries.subject) > UNREACHED
        silent = silent & (num_reached - of_subject.long() == 0)
    if bool(silent.any()):
        share, num_facts = history.popularity.share(queries[silent]), history.popularity.num_facts(queries[silent])
        values = scores.dense().clone()
        values[silent] = torch.where(share > 0, share, UNREACHED)
        share_known[silent] = num_facts / (num_facts + 1)
        scores = DenseScores(values)
    return Scored(queries, scores, model, normaliser, has_past, silent, share_known)
