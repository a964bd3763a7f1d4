"""The probabilities of all entities under a path mixture."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from titer.graph.history import History
from titer.models.path_mixture.mixture import Weights
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.scores import UNREACHED, ScoreBlock, Scores

MAX_SCORES = 1 << 24
"""Scores in one block: with more entities than fit, memory does not grow with their number."""
MORE_ON_GPU = 8
"""How many times as many scores a block has on a GPU, where a block takes as long to begin as to compute."""


@dataclass(frozen=True)
class Group:
    """The queries of one time step."""

    rows: Tensor  # (queries,) their rows
    batch: QueryBatch  # the queries that the weights belong to, each once
    weights: list[Weights]  # of each member
    place: Tensor | None = None  # (queries,) the position of each query in the batch, ascending; None for 0, 1, …

    @property
    def has_matrix(self) -> bool:
        """Whether the priors of all candidates are at hand."""
        return all(member.matrix is not None for member in self.weights)

    def spread(self, values: Tensor) -> Tensor:
        """Return values of the batch for each of the queries. (queries, ...)"""
        return values if self.place is None else values.index_select(0, self.place)


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
                fast = all(group.has_matrix for group in self._groups)
                self._whole = self._in_pieces() if fast else self._block(0, self.num_entities)
            yield ScoreBlock(0, self._whole)

    def _block_size(self, num_queries: int) -> int:
        most = MAX_SCORES * MORE_ON_GPU if self._index.rank.is_cuda else MAX_SCORES
        return max(most // max(num_queries, 1), 1)

    def _block(self, start: int, end: int) -> Tensor:
        """Return log P of the entities at some positions. (queries, end - start)"""
        device = self._index.rank.device
        values = torch.empty(self.num_queries, end - start, device=device)
        for group, normalisers in zip(self._groups, self._normalisers, strict=True):
            rows, weights = group.rows, group.weights
            num_known = weights[0].entities.num_known
            known = max(min(end, num_known) - start, 0)
            if known:
                each = zip(weights, normalisers, strict=True)
                means = _mean([m.log_weights(start, start + known) - norm[:, None] for m, norm in each])
                values[rows, :known] = group.spread(means)
            if start + known < end:
                each = zip(weights, normalisers, strict=True)
                of_rest = _mean([m.log_weights(num_known, num_known + 1) - norm[:, None] for m, norm in each])
                values[rows, known:] = self._rest(start + known, end, group.spread(of_rest))
        return values

    def _rest(self, start: int, end: int, score: Tensor) -> Tensor:
        """Return the scores of entities without a past fact, given the score that they share. (queries, end - start)"""
        # Entities added after training are no answers before their first fact.
        return torch.where(self._index.by_first[start:end] < self._num_trained, score, UNREACHED)

    def _in_pieces(self) -> Tensor:
        """Return log P of all entities: the same as ``_block``, computed for as many queries as fit into the cache."""
        values = torch.empty(self.num_queries, self.num_entities, device=self._index.rank.device)
        for group in self._groups:
            num_known = group.weights[0].entities.num_known
            log_rest = self._log_rest(num_known)
            for pieces in zip(*(member.pieces() for member in group.weights), strict=True):
                found = pieces[0][0]
                means = _mean([_normalised(piece, log_rest) for _, piece in pieces])
                first, last = found.start, found.stop
                if group.place is not None:
                    edges = torch.tensor([first, last], device=group.place.device)
                    first, last = torch.searchsorted(group.place, edges).tolist()
                    means = means.index_select(0, group.place[first:last] - found.start)
                rows = group.rows[first:last]
                values[rows, :num_known] = means[:, :num_known]
                if num_known < self.num_entities:
                    values[rows, num_known:] = self._rest(num_known, self.num_entities, means[:, num_known:])
        return values

    @cached_property
    def _normalisers(self) -> list[list[Tensor]]:
        """The logarithms of the sums of all weights: for each group and member, (queries,)."""
        return [[self._normaliser(member, len(group.batch)) for member in group.weights] for group in self._groups]

    def _normaliser(self, member: Weights, num_queries: int) -> Tensor:
        num_known, size = member.entities.num_known, self._block_size(num_queries)
        parts = [member.log_weights(num_known, num_known + 1)[:, 0] + self._log_rest(num_known)]
        for start in range(0, num_known, size):
            parts.append(torch.logsumexp(member.log_weights(start, min(start + size, num_known)), dim=1))
        return torch.logsumexp(torch.stack(parts), dim=0)

    def _log_rest(self, num_known: int) -> float:
        """Return the logarithm of the number of answers without a past fact."""
        num_rest = int((self._index.by_first[num_known:] < self._num_trained).sum())
        return math.log(num_rest) if num_rest else UNREACHED

    def member_shares(self, entity: int) -> list[float]:
        """Return the share of each member in the probability of one answer to the only query; they sum to 1."""
        (group,), (normalisers,) = self._groups, self._normalisers
        batch, weights = group.batch, group.weights
        column = int(weights[0].entities.row(batch, torch.tensor([entity], device=batch.subject.device)))
        logs = [
            float(member.log_weights(column, column + 1)[0, 0] - normaliser[0])
            for member, normaliser in zip(weights, normalisers, strict=True)
        ]
        return torch.softmax(torch.tensor(logs, dtype=torch.float64), dim=0).tolist()


def _normalised(log_weight: Tensor, log_rest: float) -> Tensor:
    """Return log P of all columns, of which the last counts e^``log_rest`` times, in place of their weights."""
    last = log_weight[:, -1].clone()
    log_weight[:, -1] += log_rest
    normaliser = torch.logsumexp(log_weight, dim=1, keepdim=True)
    log_weight[:, -1] = last
    return log_weight.sub_(normaliser)


def _mean(each: list[Tensor]) -> Tensor:
    """Return the logarithm of the mean of some probabilities, given their logarithms. (same shape)"""
    if len(each) == 1:
        return each[0]
    return torch.logsumexp(torch.stack(each), dim=0) - math.log(len(each))
