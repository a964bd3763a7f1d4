"""Base class of models that process all queries of a time step together."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model, StepResult
from titer.models.common.entities import mask_unseen
from titer.models.common.other_answers import OtherAnswers


class ByTimeModel(Model):
    """A model that encodes the history once for all queries of a time step.

    It is trained by cross-entropy over all entities. Other answers that are true at the time of the query are excluded
    from the softmax, as they are from the ranking.
    """

    batch_by_time = True

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: Any = None):
        super().__init__(vocabulary, axis, config)
        self._others = OtherAnswers(vocabulary)

    @abstractmethod
    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """Score every entity as the answer to queries of one time step. (queries, num_entities)"""

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Record which answers of a query are true at the same time."""
        self._others.learn_from(train)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Return the mean cross-entropy of the answers."""
        loss = torch.zeros((), device=answers.device)
        for rows, time in queries.by_time():
            scores = self.scores_at(queries[rows], time, history)
            scores.index_put_(self._others(queries[rows], answers[rows]), scores.new_tensor(UNREACHED))
            loss = loss + functional.cross_entropy(scores, answers[rows], reduction="sum")
        return StepResult(loss / len(queries))

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return log P of every entity. (queries, num_entities)"""
        scores = torch.empty(len(queries), history.vocabulary.num_entities, device=self.device)
        for rows, time in queries.by_time():
            scores[rows] = self.scores_at(queries[rows], time, history)
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history).log_softmax(dim=1)
