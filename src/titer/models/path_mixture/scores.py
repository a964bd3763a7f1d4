"""The probabilities of all entities under a path mixture."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor

from titer.graph.history import History
from titer.models.path_mixture.mixture import Weights
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.scores import UNREACHED, ScoreBlock, Scores

MAX_SCORES = 1 << 23
"""Scores in one block: with more entities than fit, memory does not grow with their number."""
MORE_ON_GPU = 16
"""How many times as many scores a block has on a GPU, where a block takes as long to begin as to compute."""

Group = tuple[Tensor, QueryBatch, list[Weights]]
"""The queries of one time step: their rows, the queries, and the weights of each member."""


class MixtureScores(Scores):
    """Log P of all entities: the logarithm of the mean of the members' probabilities.

    Entities are in the order of their first facts, in which those without a past fact come last, at any time.
    """

    def __init__(self, num_queries: int, groups: Sequence[Group], history: History, num_trained: int):
        self.num_queries, self.num_entities = num_queries, history.vocabulary.num_entities
        self._index, self._groups, self._num_trained = history.pair_index, groups, num_trained
        self._whole: Tensor | None = None

    def position(self, entity: Tensor) -> Tensor:
        """Return the rank of each entity by its first fact."""
        return self._index.rank.index_select(0, entity.view(-1)).view(entity.shape)

    def entity(self, position: Tensor) -> Tensor:
        """Return the entity at each rank."""
        return self._index.by_first.index_select(0, position.view(-1)).view(position.shape)

    def blocks(self) -> Iterator[ScoreBlock]:
        """Yield log P of all entities; a single block is computed once."""
        size = self._block_size(self.num_queries)
        if size < self.num_entities:
            for start in range(0, self.num_entities, size):
                yield ScoreBlock(start, self._block(start, min(start + size, self.num_entities)))
        else:
            if self._whole is None:
                self._whole = self._block(0, self.num_entities)
            yield ScoreBlock(0, self._whole)

    def _block_size(self, num_queries: int) -> int:
        most = MAX_SCORES * MORE_ON_GPU if self._index.rank.is_cuda else MAX_SCORES
        return max(most // max(num_queries, 1), 1)

    def _block(self, start: int, end: int) -> Tensor:
        """Return log P of the entities at some positions. (queries, end - start)"""
        device = self._index.rank.device
        values = torch.empty(self.num_queries, end - start, device=device)
        for (rows, _, weights), normalisers in zip(self._groups, self._normalisers, strict=True):
            num_known = weights[0].entities.num_known
            known = max(min(end, num_known) - start, 0)
            if known:
                values[rows, :known] = _mean(
                    [
                        member.log_weights(start, start + known) - normaliser[:, None]
                        for member, normaliser in zip(weights, normalisers, strict=True)
                    ]
                )
            if start + known < end:
                # Entities added after training are no answers before their first fact.
                answers = self._index.by_first[start + known : end] < self._num_trained
                of_rest = _mean(
                    [
                        member.log_weights(num_known, num_known + 1) - normaliser[:, None]
                        for member, normaliser in zip(weights, normalisers, strict=True)
                    ]
                )
                values[rows, known:] = torch.where(answers, of_rest, UNREACHED)
        return values

    @cached_property
    def _normalisers(self) -> list[list[Tensor]]:
        """The logarithms of the sums of all weights: for each group and member, (queries,)."""
        return [[self._normaliser(member, len(rows)) for member in weights] for rows, _, weights in self._groups]

    def _normaliser(self, member: Weights, num_queries: int) -> Tensor:
        num_known, size = member.entities.num_known, self._block_size(num_queries)
        num_rest = int((self._index.by_first[num_known:] < self._num_trained).sum())
        of_rest = member.log_weights(num_known, num_known + 1)[:, 0] + (math.log(num_rest) if num_rest else UNREACHED)
        parts = [of_rest]
        for start in range(0, num_known, size):
            parts.append(torch.logsumexp(member.log_weights(start, min(start + size, num_known)), dim=1))
        return torch.logsumexp(torch.stack(parts), dim=0)

    def member_shares(self, entity: int) -> list[float]:
        """Return the share of each member in the probability of one answer to the only query; they sum to 1."""
        ((_, batch, weights),), (normalisers,) = self._groups, self._normalisers
        column = int(weights[0].entities.row(batch, torch.tensor([entity], device=batch.subject.device)))
        logs = [
            float(member.log_weights(column, column + 1)[0, 0] - normaliser[0])
            for member, normaliser in zip(weights, normalisers, strict=True)
        ]
        return torch.softmax(torch.tensor(logs, dtype=torch.float64), dim=0).tolist()


def _mean(each: list[Tensor]) -> Tensor:
    """Return the logarithm of the mean of some probabilities, given their logarithms. (same shape)"""
    if len(each) == 1:
        return each[0]
    return torch.logsumexp(torch.stack(each), dim=0) - math.log(len(each))
