"""TNTComplEx: complex tensor factorisation with temporal and static relations."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingModel, PeriodConfig, small_embedding
from titer.models.common.validation import check_not_negative
from titer.models.registry import register
from titer.models.search_space import FloatRange, SearchSpace


@dataclass(frozen=True)
class TNTComplExConfig(PeriodConfig):
    """Settings of ``TNTComplEx``. ``dim`` is the number of complex features."""

    SEARCH: ClassVar[SearchSpace] = {
        **PeriodConfig.SEARCH,
        "model.embedding_penalty": FloatRange(1e-5, 1e-1, log=True),
        "model.smoothness_penalty": FloatRange(1e-5, 1e-1, log=True),
    }

    embedding_penalty: float = 0.001
    """λ₁: weight of N3, the sum of the cubed 3-norms of a fact's factors, averaged over the batch."""
    smoothness_penalty: float = 0.001
    """λ₂: weight of the penalty on the change of time embeddings from one period to the next."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "embedding_penalty", "smoothness_penalty")


@register
class TNTComplEx(EmbeddingModel):
    r"""Complex tensor factorisation in which each relation has a temporal and a static part.

    Formula:
        $$\phi(o \mid s, r, t) = \mathrm{Re} \langle u_s,\; v^t_r \odot w_t + v_r,\; \overline{u_o} \rangle$$

        The loss of a fact is its cross-entropy, the cubed 3-norms of its factors (N3), and a penalty on the change of
        \(w\) between periods:

        $$
        \lambda_1 \left( \|u_s\|_3^3 + \|v^t_r \odot w_t\|_3^3 + \|v_r\|_3^3 + \|u_o\|_3^3 \right)
            + \frac{\lambda_2}{T - 1} \sum_t \|w_{t+1} - w_t\|_3^3
        $$

        A time step after training belongs to the last period of training, one before training to the first.

    Reference:
        Lacroix, Obozinski and Usunier, "Tensor Decompositions for Temporal Knowledge Base Completion", ICLR 2020.

    Differences from the publication:
        - Time steps share \(w\) in ``num_periods`` periods of equal length. The paper has one \(w\) for every time
          stamp.
        - N3 has no factor ⅓, which the paper's has. The authors' code weighs the cubes of the two entities twice; here
          all factors have the same weight.
        - Training uses Adam. The paper uses Adagrad.
        - Other true answers at the query's time are excluded from the loss.
        - Dropout on the query is an addition, and so is the mean embedding for entities without a fact in training.
    """

    name = "tntcomplex"
    Config = TNTComplExConfig
    config: TNTComplExConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TNTComplExConfig | None = None):
        super().__init__(vocabulary, axis, config)
        width = 2 * self.config.dim  # real parts, then imaginary parts
        self.entity = small_embedding(vocabulary.num_entities, width)
        self.static_relation = small_embedding(vocabulary.num_directed_relations, width)
        self.temporal_relation = small_embedding(vocabulary.num_directed_relations, width)
        self.period = small_embedding(self.config.num_periods, width)

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """Return φ of every entity. (queries, num_entities)"""
        entity = self.of_all(self.entity.weight, history)
        relation = self._temporal_part(queries) + self.static_relation(queries.relation)
        query = _product(entity[queries.subject], relation)
        # Re(x · ȳ) is the dot product of the real and imaginary parts of both.
        return self.dropout(query) @ entity.T

    def _temporal_part(self, queries: Queries) -> Tensor:
        """Return v^t_r ⊙ w_t. (queries, 2 dim)"""
        period = self.period_of(queries.time, self.config.num_periods)
        return _product(self.temporal_relation(queries.relation), self.period(period))

    def penalty(self, queries: Queries, answers: Tensor) -> Tensor:
        """Return λ₁ times N3 plus λ₂ times the change of w between periods."""
        factors = (
            self.entity(queries.subject),
            self._temporal_part(queries),
            self.static_relation(queries.relation),
            self.entity(answers),
        )
        norms = sum(_cubed_norms(factor) for factor in factors) / len(queries)
        change = _cubed_norms(self.period.weight.diff(dim=0)) / max(self.config.num_periods - 1, 1)
        return self.config.embedding_penalty * norms + self.config.smoothness_penalty * change


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Return the product of complex vectors whose real parts come before their imaginary parts. (…, 2 dim)"""
    (a, b), (c, d) = x.chunk(2, dim=-1), y.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def _cubed_norms(x: Tensor) -> Tensor:
    """Return the sum of ‖x‖₃³ over complex vectors."""
    real, imaginary = x.chunk(2, dim=-1)
    return (real**2 + imaginary**2).pow(1.5).sum()
