"""TTransE: relation and time are steps from the subject to the object."""

from torch import Tensor

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.embedding import EmbeddingModel, PeriodConfig, small_embedding
from titer.models.registry import register


@register
class TTransE(EmbeddingModel):
    r"""Goes from the subject by the relation and by the time, and looks who is near.

    .. math::
        \phi(o \mid s, r, t) = - \| e_s + e_r + \tau_t - e_o \|_2^2

    A time after training is taken for the last period of training, one before it for the first.

    Leblay and Chekol, "Deriving Validity Time in Knowledge Graph" (WWW 2018 Companion).
    """

    name = "ttranse"
    Config = PeriodConfig
    config: PeriodConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: PeriodConfig | None = None):
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
