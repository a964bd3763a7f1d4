"""Base class of models that score entities by embeddings alone."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, StepResult
from titer.models.common.entities import append_mean_rows, mask_unseen
from titer.models.common.other_answers import OtherAnswers
from titer.models.common.trained_entities import TracksTrainedEntities
from titer.models.common.validation import check_at_least_one, check_partial
from titer.models.search_space import LEARNING, Categorical, FloatRange, SearchSpace


@dataclass(frozen=True)
class EmbeddingConfig:
    """Settings of all embedding models."""

    SEARCH: ClassVar[SearchSpace] = {
        **LEARNING,
        "model.dim": Categorical((64, 128, 200, 400)),
        "model.dropout": FloatRange(0.0, 0.6),
    }

    dim: int = 200
    """Size of the embedding of an entity."""
    dropout: float = 0.3
    """Dropout rate of the query vector in training."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim")
        check_partial(self, "dropout")


@dataclass(frozen=True)
class PeriodConfig(EmbeddingConfig):
    """Settings of an embedding model that also has embeddings of time."""

    num_periods: int = 100
    """Number of periods of equal length into which the time of training is divided; each has its own embedding."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least_one(self, "num_periods")


def small_embedding(num_embeddings: int, dim: int) -> nn.Embedding:
    """Return an embedding with small initial values, so that products of three rows begin near 0."""
    table = nn.Embedding(num_embeddings, dim)
    nn.init.normal_(table.weight, std=0.1)
    return table


class EmbeddingModel(TracksTrainedEntities):
    """A model that scores entities by learned embeddings; it uses the history only to exclude unseen entities.

    It is trained by cross-entropy over all entities; other answers that are true at the time of the query are excluded.
    Queries for the subject use the inverse relation, which has an embedding of its own. The publications, except that
    of TNTComplEx, train against sampled negatives and use the same relation for both ends. The dropout of the query
    vector and the mean embedding for unseen entities are additions of this implementation.
    """

    trained_times: Tensor  # (2,) the first and the last time step of training

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: EmbeddingConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.dropout = nn.Dropout(self.config.dropout)
        self.register_buffer("trained_times", torch.zeros(2, dtype=torch.int64))
        self._others = OtherAnswers(vocabulary)

    @abstractmethod
    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """Score every entity of the history as the answer to every query. (queries, num_entities)"""

    def penalty(self, queries: Queries, answers: Tensor) -> Tensor | float:
        """Return the regularisation term of a batch, which is added to its loss."""
        return 0.0

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Record the entities and the time span of training, and which answers of a query are true at the same time."""
        if len(train) == 0:
            return
        super().prepare(train, valid)
        self.trained_times.copy_(torch.tensor([int(train.time.min()), int(train.time.max())]))
        self._others.learn_from(train)

    def of_all(self, table: Tensor, history: History) -> Tensor:
        """Return the rows of all entities of a history; unseen entities have the mean of the others. (entities, dim)"""
        weight = self.trained.to(table.dtype)
        mean = weight @ table / weight.sum()
        return append_mean_rows(torch.where(self.trained[:, None], table, mean), history)

    def period_of(self, time: Tensor, num_periods: int) -> Tensor:
        """Return the period of each time, of ``num_periods`` equal ones; times outside of training have the nearest."""
        first, last = self.trained_times
        return (time.clamp(first, last) - first) * num_periods // (last - first + 1)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Return the cross-entropy of the answers among all entities, plus the penalty."""
        scores = self.plausibility(queries, history)
        scores.index_put_(self._others(queries, answers), scores.new_tensor(UNREACHED))
        loss = functional.cross_entropy(scores, answers)
        return StepResult(loss + self.penalty(queries, answers), {"cross_entropy": loss})

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return the plausibility of every entity that is known at the time of the query. (queries, num_entities)"""
        return mask_unseen(self.plausibility(queries, history), queries, self.vocabulary.num_entities, history)
