"""TTransE: relation and time are steps from the subject to the object."""

from dataclasses import dataclass

from torch import Tensor

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingModel, PeriodConfig, small_embedding
from titer.models.registry import register


@dataclass(frozen=True)
class TTransEConfig(PeriodConfig):
    """Settings of ``TTransE``."""

    dropout: float = 0.0
    """Share of a question's vector that is left out in training; what is left is stretched, and so moves elsewhere."""


@register
class TTransE(EmbeddingModel):
    r"""Goes from the subject by the relation and by the time, and looks who is near.

    .. math::
        \phi(o \mid s, r, t) = - \| e_s + e_r + \tau_t - e_o \|_2^2

    A time after training is taken for the last period of training, one before it for the first. The paper has the L1
    or L2 norm, not squared, a loss with a margin, and an embedding for every time stamp; here times share an embedding
    in ``num_periods`` periods, and no embedding is normalised.

    Leblay and Chekol, "Deriving Validity Time in Knowledge Graph" (WWW 2018 Companion).
    """

    name = "ttranse"
    Config = TTransEConfig
    config: TTransEConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TTransEConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.entity = small_embedding(vocabulary.num_entities, self.config.dim)
        self.relation = small_embedding(vocabulary.num_directed_relations, self.config.dim)
        self.period = small_embedding(self.config.num_periods, self.config.dim)

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """φ for every entity. (queries, num_entities)"""
        entity = self.of_all(self.entity.weight, history)
        period = self.period(self.period_of(queries.time, self.config.num_periods))
        there = self.dropout(entity[queries.subject] + self.relation(queries.relation) + period)
        # ‖x − y‖² = ‖x‖² − 2 x·y + ‖y‖², so that no (queries, num_entities, dim) is ever built.
        return 2 * there @ entity.T - entity.square().sum(dim=1) - there.square().sum(dim=1, keepdim=True)
