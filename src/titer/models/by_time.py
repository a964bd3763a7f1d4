"""What models have in common that answer all questions of one time together."""

from abc import abstractmethod

import torch
from torch import Tensor
from torch.nn import functional

from titer.data.facts import Facts
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model, StepResult
from titer.models.entities import only_heard_of


class ByTimeModel(Model):
    """A model with an embedding for every entity, which reads the past once for all questions of a time.

    It is trained by cross-entropy over all entities. Other answers that are true at the question's time do not
    compete: they do not in the ranking either.
    """

    batches_share_their_time = True
    _true_answers: TrueAnswers | None = None

    @abstractmethod
    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """The score of every entity for questions that are all of one time. (queries, num_entities)"""

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Note which answers are true together."""
        self._true_answers = TrueAnswers(train, self.vocabulary)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Cross-entropy of the answers."""
        loss = torch.zeros((), device=answers.device)
        for rows, time in queries.by_time():
            scores = self.scores_at(queries[rows], time, history)
            scores.index_put_(self._other_true(queries[rows], answers[rows]), scores.new_tensor(UNREACHED))
            loss = loss + functional.cross_entropy(scores, answers[rows], reduction="sum")
        return StepResult(loss / len(queries))

    def _other_true(self, queries: Queries, answers: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and answers that are true as well, as far as training knows."""
        if self._true_answers is None:
            return answers[:0], answers[:0]
        self._true_answers = self._true_answers.to(answers.device)
        return self._true_answers.others(queries, answers)

    def score(self, queries: Queries, history: History) -> Tensor:
        """log P for every entity. (queries, num_entities)"""
        scores = torch.empty(len(queries), history.vocabulary.num_entities, device=self.device)
        for rows, time in queries.by_time():
            scores[rows] = self.scores_at(queries[rows], time, history)
        return only_heard_of(scores, queries, self.vocabulary.num_entities, history).log_softmax(dim=1)
