"""DE-SimplE: entities whose features come and go in waves, and a score from both ends of a fact."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingConfig, EmbeddingModel, small_embedding
from titer.models.common.validation import check_positive, check_share
from titer.models.registry import register


@dataclass(frozen=True)
class DESimplEConfig(EmbeddingConfig):
    """Settings of ``DESimplE``."""

    temporal_share: float = 0.5
    """γ: the share of an entity's features that come and go."""
    time_scale: float = 1000.0
    """How many time steps make one unit of t in a wave."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "temporal_share")
        check_positive(self, "time_scale")


@register
class DESimplE(EmbeddingModel):
    r"""Gives every entity features as a subject and as an object, a share γ of which are waves in time.

    .. math::
        z^t_v[n] = \begin{cases} a_v[n] \sin(w_v[n] \, t + b_v[n]) & n \le \gamma d \\ a_v[n] & n > \gamma d \end{cases}
        \qquad
        \phi(o \mid s, r, t) = \tfrac{1}{2} \left( \langle h^t_s, v_r, t^t_o \rangle
            + \langle h^t_o, v_{r^{-1}}, t^t_s \rangle \right)

    with h and t two such z for every entity, and time counted from the end of training. At times that training has not
    seen, before it and after it, the waves simply go on.

    The authors add up three waves, of the year, the month and the day, each with an a, w and b of its own; here there
    is one, of the steps since the end of training, in units of ``time_scale``.

    Goel, Kazemi, Brubaker and Poupart, "Diachronic Embedding for Temporal Knowledge Graph Completion" (AAAI 2020).
    """

    name = "de_simple"
    Config = DESimplEConfig
    batch_by_time = True
    config: DESimplEConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: DESimplEConfig | None = None):
        super().__init__(vocabulary, axis, config)
        shape = vocabulary.num_entities, 2, self.config.dim  # features as a subject, and as an object
        waves = *shape[:2], round(self.config.temporal_share * self.config.dim)
        self.amplitude = nn.Parameter(0.1 * torch.randn(shape))
        self.frequency = nn.Parameter(torch.randn(waves))
        self.phase = nn.Parameter(torch.pi * (2 * torch.rand(waves) - 1))
        self.relation = small_embedding(vocabulary.num_directed_relations, self.config.dim)

    def features(self, time: int) -> Tensor:
        """z of every entity, as a subject and as an object. (num_entities, 2, dim)"""
        t = (time - self.trained_times[1]) / self.config.time_scale
        wave = torch.sin(self.frequency * t + self.phase)
        changing, lasting = self.amplitude.split([wave.shape[2], self.config.dim - wave.shape[2]], dim=2)
        return torch.cat([changing * wave, lasting], dim=2)

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """φ for every entity. (queries, num_entities)"""
        places, parts = [queries.subject[:0]], [self.amplitude.new_empty(0, history.vocabulary.num_entities)]
        for rows, time in queries.by_time():
            places.append(rows)
            parts.append(self._at(time, queries[rows], history))
        return torch.cat(parts).index_select(0, torch.cat(places).argsort())

    def _at(self, time: int, queries: Queries, history: History) -> Tensor:
        as_asked = self.of_all(self.features(time).flatten(1), history)  # h, then t
        as_answer = as_asked.roll(self.config.dim, dims=1)  # t, then h
        relation = torch.cat(
            [self.relation(queries.relation), self.relation(self.vocabulary.inverse(queries.relation))], dim=1
        )
        return self.dropout(as_asked[queries.subject] * relation) @ as_answer.T / 2
