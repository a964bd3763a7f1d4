"""The RE-GCN model."""

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, StepResult
from titer.models.common.by_time import ByTimeModel
from titer.models.common.conv_trans import ConvTrans
from titer.models.common.entities import append_mean_rows
from titer.models.common.snapshot_graph import latest_graphs
from titer.models.re_gcn.config import REGCNConfig
from titer.models.re_gcn.evolution import Evolution, Evolved, RecurrentGate, TimeGate
from titer.models.re_gcn.names import NameEmbedding
from titer.models.registry import register


@register
class REGCN(ByTimeModel):
    r"""Graph network and recurrence that evolve entity and relation embeddings over the latest snapshots.

    Formula:
        $$
        \begin{aligned}
        H_\tau, R_\tau &= \mathrm{evolve}(H_{\tau-1}, R_{\tau-1}, G_\tau), \qquad \tau = t-k, \dots, t-1 \\
        P(o \mid s, r, t) &\propto \exp\big(\mathrm{ConvTransE}(\tanh h_s, R_{t-1,r}) \cdot \tanh h_o\big) \\
        P(r \mid s, o, t) &\propto \exp\big(\mathrm{ConvTransR}(\tanh h_s, \tanh h_o) \cdot R_{t-1,r}\big) \\
        L &= -\lambda \log P(o \mid s, r, t) - (1 - \lambda) \log P(r \mid s, o, t) + L_\mathrm{names}
        \end{aligned}
        $$

        \(h = H_{t-1} / \lVert H_{t-1} \rVert\). The snapshots \(G_\tau\) are the latest \(k\) before the query's time
        that have facts. ``Evolution`` has the formula of one snapshot, whose update is ``TimeGate``; ``ConvTrans`` has
        that of the decoders. With ``names``, the first \(H\) is computed from the entities' names (``NameEmbedding``),
        and

        $$L_\mathrm{names} = \mu \sum_{i=1}^k \sum_v \max\big(0, \cos \min(\gamma i, 90°) - \cos(H_{t-k-1+i,v},
            H_{t-k-1,v})\big)$$

        keeps the embedding of every entity near its first one.

    Reference:
        Li, Jin, Li, Guan, Guo, Shen, Wang and Cheng, "Temporal Knowledge Graph Reasoning Based on Evolutional
        Representation Learning", SIGIR 2021.

    Differences from the publication:
        The comparison is with the authors' code.

        - Other true answers at the query's time are excluded from the loss of entities.
        - A fact that is repeated in a time step counts once in its snapshot.
        - The queries of the first time step are trained on too, with the first embeddings.
        - A time step with more queries than ``batch_size`` is divided into several batches.
        - The angle \(\gamma i\) ends at 90°, as in the text of the paper. In the authors' code it does not.
        - With ``names``, the linear maps of the parts of a name are full matrices. The authors' are block-diagonal. In
          evaluation, an entity without a fact before the query's time has the mean of the others, so that the names of
          entities that appear later are not used.
        - Without ``names``, an entity without a fact in training keeps its initial embedding.
    """

    name = "re_gcn"
    Config = REGCNConfig
    training_settings: ClassVar = {"batch_size": 1_000_000, "weight_decay": 1e-5, "clip_gradient": 1.0}
    Update: ClassVar[type[TimeGate] | type[RecurrentGate]] = TimeGate

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: Any = None):
        super().__init__(vocabulary, axis, config)
        dim, dropout = self.config.dim, self.config.dropout
        if self.config.names:
            self.entity = NameEmbedding(vocabulary, dim, dropout)
        else:
            self.entity = nn.Parameter(torch.randn(vocabulary.num_entities, dim))
        self.relation = nn.Parameter(torch.empty(vocabulary.num_directed_relations, dim))
        nn.init.xavier_normal_(self.relation)
        self.evolution = Evolution(self.config, self.Update(dim))
        self.entity_decoder = ConvTrans(self.num_inputs, dim, self.config.channels, dropout)
        self.relation_decoder = ConvTrans(self.num_inputs, dim, self.config.channels, dropout)

    num_inputs: ClassVar[int] = 2
    """Number of vectors that a decoder reads: subject and relation, or subject and object."""

    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """Return the score of every entity for queries of one time step. (queries, num_entities)"""
        return self.entity_scores(queries, time, self.evolved(time, history), history)

    def entity_scores(self, queries: Queries, time: int, evolved: Evolved, history: History) -> Tensor:
        """Return the score of every entity for queries of one time step. (queries, num_entities)"""
        return self.decode_entities(self.entity_decoder, queries, evolved)

    def relation_scores(
        self, queries: Queries, answers: Tensor, time: int, evolved: Evolved, history: History
    ) -> Tensor:
        """Return the score of every relation between subjects and answers. (queries, directed relations)"""
        return self.decode_relations(self.relation_decoder, queries, answers, evolved)

    def decode_entities(self, decoder: ConvTrans, queries: Queries, evolved: Evolved, *context: Tensor) -> Tensor:
        """Return the score of every entity by one decoder, which also reads ``context``. (queries, num_entities)"""
        entity = torch.tanh(evolved.entity)
        subject, relation = entity.index_select(0, queries.subject), evolved.relation.index_select(0, queries.relation)
        return decoder(subject, relation, *context) @ entity.T

    def decode_relations(
        self, decoder: ConvTrans, queries: Queries, answers: Tensor, evolved: Evolved, *context: Tensor
    ) -> Tensor:
        """Return the score of every relation by one decoder, which also reads ``context``. (queries, relations)"""
        entity = torch.tanh(evolved.entity)
        subject, object = entity.index_select(0, queries.subject), entity.index_select(0, answers)
        return decoder(subject, object, *context) @ evolved.relation.T

    def evolved(self, time: int, history: History) -> Evolved:
        """Return the embeddings after the latest snapshots before a time."""
        graphs = latest_graphs(history, time, self.config.steps)
        return self.evolution(self._first_embeddings(time, history), self.relation, graphs)

    def _first_embeddings(self, time: int, history: History) -> Tensor:
        """Return the embedding of every entity before the first snapshot. (num_entities, dim)"""
        if isinstance(self.entity, Tensor):
            return append_mean_rows(self.entity, history)
        table = functional.normalize(self.entity())
        if self.training:
            return table
        entities = torch.arange(len(table), device=table.device)
        known = history.are_known(entities, torch.tensor([time], device=table.device))[0, :, None]
        mean = torch.where(known, table, 0.0).sum(dim=0) / known.sum().clamp(min=1)
        num_added = history.vocabulary.num_entities - len(table)
        return torch.cat([torch.where(known, table, mean), mean.expand(num_added, -1)])

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Return the weighted sum of the losses of entities, of relations and of names."""
        entity_loss = relation_loss = name_loss = torch.zeros((), device=answers.device)
        for rows, time in queries.by_time():
            batch, answer = queries[rows], answers[rows]
            evolved = self.evolved(time, history)
            scores = self.entity_scores(batch, time, evolved, history)
            scores.index_put_(self._others(batch, answer), scores.new_tensor(UNREACHED))
            entity_loss = entity_loss + functional.cross_entropy(scores, answer, reduction="sum")
            relations = self.relation_scores(batch, answer, time, evolved, history)
            relation_loss = relation_loss + functional.cross_entropy(relations, batch.relation, reduction="sum")
            name_loss = name_loss + self._departure(evolved)
        entity_loss, relation_loss = entity_loss / len(queries), relation_loss / len(queries)
        weight = self.config.entity_weight
        loss = weight * entity_loss + (1 - weight) * relation_loss + self.config.angle_weight * name_loss
        return StepResult(loss, {"entity_loss": entity_loss, "relation_loss": relation_loss, "name_loss": name_loss})

    def _departure(self, evolved: Evolved) -> Tensor:
        """Return by how much the cosines between first and later embeddings are too small, summed up."""
        total = evolved.entity.new_zeros(())
        if not self.config.names:
            return total
        for i, state in enumerate(evolved.path[1:], start=1):
            least = math.cos(math.radians(min(self.config.angle * i, 90)))
            total = total + (least - functional.cosine_similarity(state, evolved.path[0])).clamp(min=0).sum()
        return total
