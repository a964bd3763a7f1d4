"""TANGO behind the common base, with each of its two decoders."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.by_time import ByTimeModel
from titer.models.common.entities import append_mean_rows
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

    Where this differs from the authors' code: their derivative is :math:`h^{(L)}` itself, here it is what the layers
    add to z; their relations flow too. An edge weighs :math:`1 / \sqrt{|N_v| |N_u|}` there, followed by a bias and
    batch normalisation; here neighbours are averaged. Their jump has the weight 0.01 and a diagonal map, here 0.1 and a
    full one. They integrate over a tenth of the time between snapshots, with gradients by the adjoint method; here
    every snapshot lasts one unit, and gradients go back through the solver. One δ from 0.1 serves all their layers,
    here each has its own from 0.3, and W begins near the identity. Their DistMult scores [learned; moved] embeddings,
    here the moved ones alone; their TuckER has batch normalisation and a core that begins at random, here it begins
    near DistMult. And here other true answers of the moment do not compete.

    An entity that training never saw keeps the embedding it began with.
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
        entity = self.flow(append_mean_rows(self.entity, history), self.relation, history.snapshots, time)
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
