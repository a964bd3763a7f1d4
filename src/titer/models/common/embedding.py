"""What models of embeddings alone share: a score for every entity at once, and cross-entropy over all of them."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model, StepResult
from titer.models.common.entities import append_mean_rows, mask_unseen
from titer.models.common.other_answers import OtherAnswers
from titer.models.common.validation import check_at_least_one, check_partial


@dataclass(frozen=True)
class EmbeddingConfig:
    """Settings that all models of embeddings have."""

    dim: int = 200
    """Size of the embedding of an entity."""
    dropout: float = 0.3
    """Share of a question's vector that is left out in training."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim")
        check_partial(self, "dropout")


@dataclass(frozen=True)
class PeriodConfig(EmbeddingConfig):
    """Settings of a model with embeddings of times."""

    num_periods: int = 100
    """Into how many periods of equal length the time of training is divided; each has an embedding of its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least_one(self, "num_periods")


def small_embedding(num_embeddings: int, dim: int) -> nn.Embedding:
    """A table whose products of three rows begin near nothing."""
    table = nn.Embedding(num_embeddings, dim)
    nn.init.normal_(table.weight, std=0.1)
    return table


class EmbeddingModel(Model):
    """Knows the past by what it made of embeddings in training alone; the history says who has been heard of.

    Trained by cross-entropy over all entities; other answers that are true at the question's time do not compete.
    Questions for the subject are asked with a relation of their own, the inverse. The papers, that of TNTComplEx apart,
    train against sampled negatives and ask for both ends with the same relation. The dropout on the question and the
    mean for entities that training does not know are additions of this implementation.
    """

    trained: Tensor  # (num_entities,) who appears in training
    trained_times: Tensor  # (2,) the first and the last time step of training

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: EmbeddingConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.dropout = nn.Dropout(self.config.dropout)
        self.register_buffer("trained", torch.ones(vocabulary.num_entities, dtype=torch.bool))
        self.register_buffer("trained_times", torch.zeros(2, dtype=torch.int64))
        self._others = OtherAnswers(vocabulary)

    @abstractmethod
    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """A score for every entity of the history as the answer of every question. (queries, num_entities)"""

    def penalty(self, queries: Queries, answers: Tensor) -> Tensor | float:
        """What is added to the loss of a batch to keep embeddings small or smooth."""
        return 0.0

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Note who appears in training, when it begins and ends, and which answers are true together."""
        if len(train) == 0:
            return
        self.trained.copy_(torch.from_numpy(train.mentions(self.vocabulary.num_entities)))
        self.trained_times.copy_(torch.tensor([int(train.time.min()), int(train.time.max())]))
        self._others.learn_from(train)

    def of_all(self, table: Tensor, history: History) -> Tensor:
        """The rows of all entities of a history; those that training does not know have the mean of those it does."""
        weight = self.trained.to(table.dtype)
        mean = weight @ table / weight.sum()
        return append_mean_rows(torch.where(self.trained[:, None], table, mean), history)

    def period_of(self, time: Tensor, num_periods: int) -> Tensor:
        """Which of so many periods of equal length, from the beginning of training to its end, is nearest."""
        first, last = self.trained_times
        return (time.clamp(first, last) - first) * num_periods // (last - first + 1)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Cross-entropy of the answers among all entities, and the penalty."""
        scores = self.plausibility(queries, history)
        scores.index_put_(self._others(queries, answers), scores.new_tensor(UNREACHED))
        loss = functional.cross_entropy(scores, answers)
        return StepResult(loss + self.penalty(queries, answers), {"cross_entropy": loss})

    def score(self, queries: Queries, history: History) -> Tensor:
        """The plausibility of every entity that has been heard of. (queries, num_entities)"""
        return mask_unseen(self.plausibility(queries, history), queries, self.vocabulary.num_entities, history)
