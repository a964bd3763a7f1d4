"""TTransE: relation and time translate the subject to the object."""

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
    """Dropout rate of the translated subject. Dropout rescales what it keeps, which moves the vector; hence 0."""


@register
class TTransE(EmbeddingModel):
    r"""Translation of the subject by relation and time, with entities scored by their distance.

    Formula:
        $$\phi(o \mid s, r, t) = - \| e_s + e_r + \tau_t - e_o \|_2^2$$

        Time steps share the embeddings \(\tau\) of ``num_periods`` periods of equal length. A time step after training
        belongs to the last period of training, one before training to the first.

    Reference:
        Leblay and Chekol, "Deriving Validity Time in Knowledge Graph", WWW 2018 Companion.

    Differences from the publication:
        - The distance is the squared L2 norm. The paper uses the L1 or L2 norm, not squared.
        - The loss is the cross-entropy over all entities; other true answers at the query's time are excluded from
          it. The paper uses a margin loss against sampled negatives.
        - Time steps share embeddings in periods. The paper has an embedding for every time stamp.
        - No embedding is normalised.
        - A query for the subject uses an inverse relation of its own. The paper uses the same relation for both
          directions.
        - Dropout on the query is an addition, and so is the mean embedding for entities without a fact in training.
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
        """Return φ of every entity. (queries, num_entities)"""
        entity = self.of_all(self.entity.weight, history)
        period = self.period(self.period_of(queries.time, self.config.num_periods))
        translated = self.dropout(entity[queries.subject] + self.relation(queries.relation) + period)
        # ‖x − y‖² = ‖x‖² − 2 x·y + ‖y‖² avoids a tensor of shape (queries, num_entities, dim).
        return 2 * translated @ entity.T - entity.square().sum(dim=1) - translated.square().sum(dim=1, keepdim=True)
