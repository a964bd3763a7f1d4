"""DE-SimplE: entity features that are waves in time, and the score of SimplE."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingConfig, EmbeddingModel, small_embedding
from titer.models.common.validation import check_positive, check_share
from titer.models.registry import register
from titer.models.search_space import FloatRange, SearchSpace


@dataclass(frozen=True)
class DESimplEConfig(EmbeddingConfig):
    """Settings of ``DESimplE``."""

    SEARCH: ClassVar[SearchSpace] = {
        **EmbeddingConfig.SEARCH,
        "model.temporal_share": FloatRange(0.1, 0.9),
    }

    temporal_share: float = 0.5
    """γ: share of an entity's features that change over time."""
    time_scale: float = 1000.0
    """Number of time steps in one unit of t."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "temporal_share")
        check_positive(self, "time_scale")


@register
class DESimplE(EmbeddingModel):
    r"""SimplE score on diachronic embeddings: a share γ of an entity's features are sine waves in time.

    Formula:
        $$
        \begin{aligned}
        z^t_v[n] &= \begin{cases}
            a_v[n] \sin(w_v[n] \, t + b_v[n]) & n \le \gamma d \\
            a_v[n] & n > \gamma d
        \end{cases} \\
        \phi(o \mid s, r, t) &= \tfrac{1}{2} \left( \langle h^t_s, v_r, t^t_o \rangle
            + \langle h^t_o, v_{r^{-1}}, t^t_s \rangle \right)
        \end{aligned}
        $$

        Every entity has two such embeddings \(z\): \(h\) as a subject and \(t\) as an object. Time is counted from the
        end of training in units of ``time_scale`` time steps. The waves continue at time steps outside the training
        split.

    Reference:
        Goel, Kazemi, Brubaker and Poupart, "Diachronic Embedding for Temporal Knowledge Graph Completion", AAAI 2020.

    Differences from the publication:
        - There is one wave, over the time steps since the end of training. The authors add three waves, for the year,
          the month and the day, each with its own \(a\), \(w\) and \(b\).
        - The loss is the cross-entropy over all entities; other true answers at the query's time are excluded from
          it. The paper trains against sampled negatives.
        - A query for the subject uses an inverse relation of its own. The paper uses the same relation for both
          directions.
        - Dropout on the query is an addition, and so is the mean embedding for entities without a fact in training.
    """

    name = "de_simple"
    Config = DESimplEConfig
    batch_by_time = True
    config: DESimplEConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: DESimplEConfig | None = None):
        super().__init__(vocabulary, axis, config)
        shape = vocabulary.num_entities, 2, self.config.dim  # as a subject, and as an object
        waves = *shape[:2], round(self.config.temporal_share * self.config.dim)
        self.amplitude = nn.Parameter(0.1 * torch.randn(shape))
        self.frequency = nn.Parameter(torch.randn(waves))
        self.phase = nn.Parameter(torch.pi * (2 * torch.rand(waves) - 1))
        self.relation = small_embedding(vocabulary.num_directed_relations, self.config.dim)

    def features(self, time: int) -> Tensor:
        """Return z of every entity, as a subject and as an object. (num_entities, 2, dim)"""
        t = (time - self.trained_times[1]) / self.config.time_scale
        wave = torch.sin(self.frequency * t + self.phase)
        temporal, static = self.amplitude.split([wave.shape[2], self.config.dim - wave.shape[2]], dim=2)
        return torch.cat([temporal * wave, static], dim=2)

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """Return φ of every entity. (queries, num_entities)"""
        # The empty parts keep the shapes right when there are no queries.
        places, parts = [queries.subject[:0]], [self.amplitude.new_empty(0, history.vocabulary.num_entities)]
        for rows, time in queries.by_time():
            places.append(rows)
            parts.append(self._scores_at(time, queries[rows], history))
        return torch.cat(parts).index_select(0, torch.cat(places).argsort())

    def _scores_at(self, time: int, queries: Queries, history: History) -> Tensor:
        """Return φ of every entity for queries of one time step. (queries, num_entities)"""
        as_subject = self.of_all(self.features(time).flatten(1), history)  # [h; t]
        as_answer = as_subject.roll(self.config.dim, dims=1)  # [t; h]
        relation = torch.cat(
            [self.relation(queries.relation), self.relation(self.vocabulary.inverse(queries.relation))], dim=1
        )
        return self.dropout(as_subject[queries.subject] * relation) @ as_answer.T / 2
