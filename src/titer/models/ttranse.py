"""TTransE: relation and time are steps from the subject to the object."""

from dataclasses import dataclass

from torch import Tensor

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.embedding import EmbeddingConfig, EmbeddingModel, small_embedding
from titer.models.registry import register


@dataclass(frozen=True)
class TTransEConfig(EmbeddingConfig):
    """Settings of ``TTransE``."""

    num_periods: int = 100
    """Into how many periods of equal length the time of training is divided; each has an embedding of its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_periods < 1:
            raise ConfigError(f"model.num_periods must be at least 1, not {self.num_periods}")


@register
class TTransE(EmbeddingModel):
    r"""Goes from the subject by the relation and by the time, and looks who is near.

    .. math::
        \phi(o \mid s, r, t) = - \| e_s + e_r + \tau_t - e_o \|_2^2

    A time after training is taken for the last period of training, one before it for the first.

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
