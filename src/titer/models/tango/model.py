"""TANGO behind the common base, with each of its two decoders."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.by_time import ByTimeModel
from titer.models.entities import with_newcomers
from titer.models.registry import register
from titer.models.tango.config import TANGOConfig
from titer.models.tango.flow import Flow


class DistMult(nn.Module):
    """score = Σ_i s_i r_i o_i (Yang et al., ICLR 2015)."""

    def __init__(self, dim: int):
        super().__init__()

    def forward(self, subject: Tensor, relation: Tensor) -> Tensor:
        """What to multiply answers by. (questions, dim)"""
        return subject * relation


class TuckER(nn.Module):
    """score = Σ_ijk W_ijk s_i r_j o_k (Balažević et al., EMNLP 2019); it begins close to DistMult, where i = j = k."""

    def __init__(self, dim: int):
        super().__init__()
        core = 0.3 / dim * torch.randn(dim, dim, dim)
        entry = torch.arange(dim)
        core[entry, entry, entry] += 1
        self.core = nn.Parameter(core)

    def forward(self, subject: Tensor, relation: Tensor) -> Tensor:
        """What to multiply answers by. (questions, dim)"""
        return (subject[:, :, None] * relation[:, None, :]).flatten(1) @ self.core.flatten(0, 1)


class TANGO(ByTimeModel):
    r"""Han, Ding, Ma, Gu, Tresp: *Learning Neural Ordinary Equations for Forecasting Future Links on Temporal
    Knowledge Graphs*, EMNLP 2021.

    .. math::
        z(t) = z(t - k) + \int_{t-k}^{t} \frac{dz}{dt}\, dt, \qquad P(o \mid s, r, t) \propto
        \exp \mathrm{decoder}(z_s(t), z_r, z_o(t))

    z(t - k) are learned embeddings of entities and relations. A multi-relational graph layer on the snapshots of the
    latest k steps, and a jump where facts begin and cease, move those of the entities: see ``Flow``.
    """

    Config = TANGOConfig
    Decoder: ClassVar[type[DistMult] | type[TuckER]]
    config: TANGOConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TANGOConfig | None = None):
        super().__init__(vocabulary, axis, config)
        dim = self.config.dim
        self.entity = nn.Parameter(0.1 * torch.randn(vocabulary.num_entities, dim))
        self.relation = nn.Parameter(torch.randn(vocabulary.num_directed_relations, dim))
        self.flow = Flow(self.config)
        self.decoder = self.Decoder(dim)
        self.dropout = nn.Dropout(self.config.dropout)

    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """Scores for questions that are all of one time. (queries, num_entities)"""
        entity = self.flow(with_newcomers(self.entity, history), self.relation, history.snapshots, time)
        subject = self.dropout(entity.index_select(0, queries.subject))
        relation = self.relation.index_select(0, queries.relation)
        return self.dropout(self.decoder(subject, relation)) @ entity.T


@register
class TANGODistMult(TANGO):
    """TANGO with the decoder of DistMult, which multiplies subject, relation and answer entry by entry."""

    name = "tango_distmult"
    Decoder = DistMult


@register
class TANGOTuckER(TANGO):
    """TANGO with the decoder of TuckER, in which every entry of subject, relation and answer can meet every other."""

    name = "tango_tucker"
    Decoder = TuckER
