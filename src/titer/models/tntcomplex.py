"""TNTComplEx: a complex tensor factorisation whose relations have a part that changes and one that does not."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingModel, PeriodConfig, small_embedding
from titer.models.common.validation import check_not_negative
from titer.models.registry import register


@dataclass(frozen=True)
class TNTComplExConfig(PeriodConfig):
    """Settings of ``TNTComplEx``; ``dim`` counts complex numbers."""

    embedding_penalty: float = 0.001
    """λ₁: the weight of N3, the cubes of all factors of a fact, summed, on average over facts."""
    smoothness_penalty: float = 0.001
    """λ₂: the weight of the change from one period to the next."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "embedding_penalty", "smoothness_penalty")


@register
class TNTComplEx(EmbeddingModel):
    r"""Multiplies complex embeddings; the relation has a part that time turns and stretches, and one that it does not.

    .. math::
        \phi(o \mid s, r, t) = \mathrm{Re} \langle u_s,\; v^t_r \odot w_t + v_r,\; \overline{u_o} \rangle

    To the cross-entropy of a fact are added the cubed 3-norms of its factors (N3), and the change of time,

    .. math::
        \lambda_1 \left( \|u_s\|_3^3 + \|v^t_r \odot w_t\|_3^3 + \|v_r\|_3^3 + \|u_o\|_3^3 \right)
            + \frac{\lambda_2}{T - 1} \sum_t \|w_{t+1} - w_t\|_3^3.

    A time after training is taken for the last period of training, one before it for the first. The paper has a factor
    ⅓ in N3, one w for every time stamp where there are ``num_periods`` here, Adagrad, and no dropout.

    Lacroix, Obozinski and Usunier, "Tensor Decompositions for Temporal Knowledge Base Completion" (ICLR 2020).
    """

    name = "tntcomplex"
    Config = TNTComplExConfig
    config: TNTComplExConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TNTComplExConfig | None = None):
        super().__init__(vocabulary, axis, config)
        width = 2 * self.config.dim  # real parts, then imaginary ones
        self.entity = small_embedding(vocabulary.num_entities, width)
        self.lasting = small_embedding(vocabulary.num_directed_relations, width)
        self.changing = small_embedding(vocabulary.num_directed_relations, width)
        self.period = small_embedding(self.config.num_periods, width)

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """φ for every entity. (queries, num_entities)"""
        entity = self.of_all(self.entity.weight, history)
        relation = self._changed(queries) + self.lasting(queries.relation)
        question = _product(entity[queries.subject], relation)
        # The real part of x times the conjugate of y is the dot product of both as twice as many real numbers.
        return self.dropout(question) @ entity.T

    def _changed(self, queries: Queries) -> Tensor:
        """v^t_r ⊙ w_t. (queries, 2 dim)"""
        period = self.period_of(queries.time, self.config.num_periods)
        return _product(self.changing(queries.relation), self.period(period))

    def penalty(self, queries: Queries, answers: Tensor) -> Tensor:
        """λ₁ times N3, and λ₂ times the change of time."""
        factors = (
            self.entity(queries.subject),
            self._changed(queries),
            self.lasting(queries.relation),
            self.entity(answers),
        )
        size = sum(_cubes(factor) for factor in factors) / len(queries)
        change = _cubes(self.period.weight.diff(dim=0)) / max(self.config.num_periods - 1, 1)
        return self.config.embedding_penalty * size + self.config.smoothness_penalty * change


def _product(x: Tensor, y: Tensor) -> Tensor:
    """The product of complex vectors, real parts before imaginary ones. (…, 2 dim)"""
    (a, b), (c, d) = x.chunk(2, dim=-1), y.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def _cubes(x: Tensor) -> Tensor:
    """‖x‖₃³ of complex vectors, all added up."""
    real, imaginary = x.chunk(2, dim=-1)
    return (real**2 + imaginary**2).pow(1.5).sum()
