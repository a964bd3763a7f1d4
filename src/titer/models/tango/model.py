"""The TANGO models, one for each decoder."""

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
    """The decoder Σ_i s_i r_i o_i of DistMult (Yang et al., ICLR 2015)."""

    def __init__(self, dim: int):
        super().__init__()

    def forward(self, subject: Tensor, relation: Tensor) -> Tensor:
        """Return the vector whose dot product with an answer is its score. (queries, dim)"""
        return subject * relation


class TuckER(nn.Module):
    """The decoder Σ_ijk W_ijk s_i r_j o_k of TuckER (Balažević et al., EMNLP 2019).

    The core W is initialised near that of DistMult, which is 1 where i = j = k and 0 elsewhere.
    """

    def __init__(self, dim: int):
        super().__init__()
        core = 0.3 / dim * torch.randn(dim, dim, dim)
        entry = torch.arange(dim)
        core[entry, entry, entry] += 1
        self.core = nn.Parameter(core)

    def forward(self, subject: Tensor, relation: Tensor) -> Tensor:
        """Return the vector whose dot product with an answer is its score. (queries, dim)"""
        return (subject[:, :, None] * relation[:, None, :]).flatten(1) @ self.core.flatten(0, 1)


class TANGO(ByTimeModel):
    r"""Neural ordinary differential equation that carries entity embeddings through the latest snapshots.

    Formula:
        $$
        \begin{aligned}
        z(t) &= z(t - k) + \int_{t-k}^{t} \frac{dz}{dt}\, dt \\
        P(o \mid s, r, t) &\propto \exp \, \mathrm{decoder}(z_s(t), z_r, z_o(t))
        \end{aligned}
        $$

        \(z(t - k)\) are the learned embeddings. The derivative, see ``Flow``, is a multi-relational graph network over
        the latest \(k\) snapshots, and a jump where facts begin or end.

    Reference:
        Han, Ding, Ma, Gu and Tresp, "Learning Neural Ordinary Equations for Forecasting Future Links on Temporal
        Knowledge Graphs", EMNLP 2021.

    Differences from the publication:
        The comparison is with the authors' code.

        - The derivative is what the layers add to \(z\). The authors' is \(h^{(L)}\) itself.
        - Relation embeddings are constant. The authors' change over time too.
        - Neighbours are averaged. The authors weigh an edge by \(1 / \sqrt{|N_v| |N_u|}\), followed by a bias and batch
          normalisation.
        - The jump has the weight 0.1 and a full matrix. The authors' has the weight 0.01 and a diagonal matrix.
        - Every snapshot lasts one unit of time, and gradients go through the solver. The authors integrate over a tenth
          of the time between snapshots, with gradients by the adjoint method.
        - Each layer has its own \(\delta\), initially 0.3, and \(W\) is initialised near the identity. The authors
          share one \(\delta\), initially 0.1.
        - Other true answers at the query's time are excluded from the loss.
        - An entity without a fact in training keeps its initial embedding.

    Convention of the published figures:
        The authors rank by the order of a sort, in which equal scores have an arbitrary order, with the time-aware
        filter. The expected rank in such an order is the realistic rank that is used here.
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
        """Return the score of every entity for queries of one time step. (queries, num_entities)"""
        entity = self.flow(append_mean_rows(self.entity, history), self.relation, history.snapshots, time)
        subject = self.dropout(entity.index_select(0, queries.subject))
        relation = self.relation.index_select(0, queries.relation)
        return self.dropout(self.decoder(subject, relation)) @ entity.T


@register
class TANGODistMult(TANGO):
    r"""TANGO with the DistMult decoder, an elementwise product of subject, relation and answer.

    Formula:
        $$\mathrm{decoder}(z_s, z_r, z_o) = \sum_i z_{s,i} \, z_{r,i} \, z_{o,i}$$

        The base class ``TANGO`` has the rest of the formula.

    Reference:
        Han, Ding, Ma, Gu and Tresp, EMNLP 2021 (see ``TANGO``); the decoder is that of Yang, Yih, He, Gao and Deng,
        "Embedding Entities and Relations for Learning and Inference in Knowledge Bases", ICLR 2015.

    Differences from the publication:
        - The decoder scores the integrated embeddings. The authors' scores the concatenation of the learned and the
          integrated embeddings.
        - All differences of ``TANGO``.
    """

    name = "tango_distmult"
    Decoder = DistMult


@register
class TANGOTuckER(TANGO):
    r"""TANGO with the TuckER decoder, a full trilinear product of subject, relation and answer.

    Formula:
        $$\mathrm{decoder}(z_s, z_r, z_o) = \sum_{ijk} W_{ijk} \, z_{s,i} \, z_{r,j} \, z_{o,k}$$

        The base class ``TANGO`` has the rest of the formula.

    Reference:
        Han, Ding, Ma, Gu and Tresp, EMNLP 2021 (see ``TANGO``); the decoder is that of Balažević, Allen and Hospedales,
        "TuckER: Tensor Factorization for Knowledge Graph Completion", EMNLP 2019.

    Differences from the publication:
        - The decoder has no batch normalisation, and its core is initialised near DistMult. The authors' has batch
          normalisation and a random core.
        - All differences of ``TANGO``.
    """

    name = "tango_tucker"
    Decoder = TuckER
