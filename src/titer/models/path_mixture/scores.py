"""The probabilities of all entities under a path mixture."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from titer.graph.history import History
from titer.models.path_mixture.mixture import Weights
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.scores import UNREACHED, ScoreBlock, Scores

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
        """Yield log P of all entities, as one block."""
        if self._whole is None:
            self._whole = torch.empty(self.num_queries, self.num_entities, device=self._index.rank.device)
            for rows, _, weights in self._groups:
                self._whole[rows] = self._log_probability(weights)
        yield ScoreBlock(0, self._whole)

    def _log_probability(self, weights: list[Weights]) -> Tensor:
        """Return log P of all entities for the queries of one time step. (queries, num_entities)"""
        num_known = weights[0].entities.num_known
        rest = self._index.by_first[num_known:]
        # Entities added after training are no answers before their first fact.
        answers = rest < self._num_trained
        mean: Tensor | None = None
        for member in weights:
            each = member.log_weights()
            each -= (_normaliser(each, int(answers.sum())) + math.log(len(weights)))[:, None]
            mean = each if mean is None else torch.logaddexp(mean, each)
        assert mean is not None
        of_rest = torch.where(answers, mean[:, -1:], UNREACHED)
        return torch.cat([mean[:, :-1], of_rest], dim=1)

    def member_shares(self, row: int, entity: int) -> list[float]:
        """Return the share of each member in the probability of one answer; they sum to 1."""
        for rows, batch, weights in self._groups:
            if row not in rows.tolist():
                continue
            place = rows.tolist().index(row)
            num_rest = int((self._index.by_first[weights[0].entities.num_known :] < self._num_trained).sum())
            column = weights[0].entities.row(batch, torch.tensor([entity], device=rows.device))
            each = [member.log_weights()[place] for member in weights]
            logs = torch.stack([one[column[0]] - _normaliser(one[None], num_rest)[0] for one in each])
            return torch.softmax(logs.double(), dim=0).tolist()
        raise IndexError(row)


def _normaliser(log_weights: Tensor, num_rest: int) -> Tensor:
    """Return the logarithm of the sum of all weights, of which the last column counts several times. (queries,)"""
    total = torch.full_like(log_weights[:, 0], UNREACHED)
    if log_weights.shape[1] > 1:
        total = torch.logsumexp(log_weights[:, :-1], dim=1)
    return torch.logaddexp(total, log_weights[:, -1] + math.log(num_rest)) if num_rest else total
