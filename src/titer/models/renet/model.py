"""The RE-NET model."""

import torch
from torch import Tensor, nn

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.snapshots import Snapshots
from titer.models.common.by_time import ByTimeModel
from titer.models.common.entities import append_mean_rows
from titer.models.common.graph_layers import max_over
from titer.models.registry import register
from titer.models.renet.config import RENetConfig
from titer.models.renet.neighbourhood import Neighbourhood


@register
class RENet(ByTimeModel):
    r"""Recurrent network over the subject's neighbourhoods in the latest snapshots, and over whole snapshots.

    Formula:
        $$
        \begin{aligned}
        H_t &= \mathrm{GRU}_1(\max\nolimits_v g_t(v), H_{t-1}) \\
        h_t(s, r) &= \mathrm{GRU}_2([g_t(s, r); H_t; e_s; e_r], h_{t-1}(s, r)) \\
        P(o \mid s, r, t) &\propto \exp\big((W [e_s; e_r; h_{t-1}(s, r)] + c) \cdot e_o + b_o\big)
        \end{aligned}
        $$

        \(g\) is the state of a node in a snapshot, see ``Neighbourhood``. The local history \(h\) covers the latest
        ``local_steps`` snapshots in which the subject has facts, the global history \(H\) the latest ``global_steps``
        snapshots. \(H\) is zero at local snapshots before the global history. A subject without a past fact has
        \(h = 0\) and uses no \(H\). Memory is bounded by these snapshots and the neighbourhoods of their nodes, however
        long the history is.

    Reference:
        Jin, Qu, Jin and Ren, "Recurrent Event Network: Autoregressive Structure Inference over Temporal Knowledge
        Graphs", EMNLP 2020.

    Differences from the publication:
        - The relational graph aggregator and the attentive pooling are combined. The paper uses one at a time.
        - The attention is a dot product and pools messages. The paper's is additive,
          \(v^\top \tanh(W [e_s; e_r; e_u])\), and pools embeddings \(e_u\).
        - There is one R-GCN layer by default, followed by tanh. The paper has two.
        - The output weights are tied to the embeddings \(e_o\), with a bias \(b_o\). The authors have a separate output
          layer.
        - Only \(P(o \mid s, r, t)\) is learned, not \(P(r \mid s)\) and \(P(s)\).
        - \(H\) is trained together with the rest, not beforehand.
        - Other true answers at the query's time are excluded from the loss.
        - Some training queries are scored without \(e_s\) or \(e_r\) (``question_dropout``).
        - The history holds observed facts, never the model's own forecasts.
        - One network answers the queries of both directions.
        - An entity without a fact in training keeps its initial embedding.

    Size:
        The TITer paper gives 5.459 million parameters for RE-NET. These are four parts of the authors' network, counted
        for ICEWS14: the output layers for entities (4.284 million) and for relations (0.092), and the two recurrent
        networks before them (0.601 and 0.481). Embeddings (1.5 million) and graph layers are not counted. Here the tied
        output saves the first part and \(P(r \mid s)\) is not learned, so that 2.74 million parameters include
        everything.
    """

    name = "renet"
    Config = RENetConfig
    config: RENetConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: RENetConfig | None = None):
        super().__init__(vocabulary, axis, config)
        dim, relations = self.config.dim, vocabulary.num_directed_relations
        self.entity = nn.Parameter(0.1 * torch.randn(vocabulary.num_entities, dim))
        self.relation = nn.Parameter(0.1 * torch.randn(relations, dim))
        self.neighbourhood = Neighbourhood(relations, self.config)
        self.global_history = nn.GRUCell(dim, dim)
        self.local_history = nn.GRUCell(4 * dim, dim)
        self.projection = nn.Linear(3 * dim, dim)  # W, c
        self.bias = nn.Parameter(torch.zeros(vocabulary.num_entities, 1))  # b
        self.dropout = nn.Dropout(self.config.dropout)

    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """Return the score of every entity for queries of one time step. (queries, num_entities)"""
        answer = append_mean_rows(self.entity, history)
        entity, relation = self.dropout(answer), self.dropout(self.relation)
        # Many queries of one time step are equal, so each is computed once.
        pair, place = torch.unique(queries.subject * len(relation) + queries.relation, return_inverse=True)
        subject = pair // len(relation)
        embeddings = [entity.index_select(0, subject), relation.index_select(0, pair % len(relation))]
        state = self._local_state(subject, torch.cat(embeddings, dim=1), entity, relation, history.snapshots, time)
        kept = [self._drop_rows(part) for part in embeddings]
        projected = self.projection(torch.cat([*kept, self.dropout(state)], dim=1)).index_select(0, place)
        return torch.addmm(append_mean_rows(self.bias, history)[:, 0], projected, answer.T)

    def _drop_rows(self, rows: Tensor) -> Tensor:
        """Set random rows to zero in training.

        The other rows are not rescaled, unlike in dropout, so that they look the same in training and at test.
        """
        if not self.training:
            return rows
        return rows * (torch.rand(len(rows), 1, device=rows.device) >= self.config.question_dropout)

    def _local_state(
        self, subject: Tensor, query: Tensor, entity: Tensor, relation: Tensor, snapshots: Snapshots, time: int
    ) -> Tensor:
        """Return h(s, r) of every query [e_s; e_r], zero if the subject has no past fact. (queries, dim)"""
        state = query.new_zeros(len(query), self.config.dim)
        end = snapshots.before(time)
        if end == 0:
            return state
        first = max(end - self.config.global_steps, 0)
        place, exists = snapshots.latest(subject, end, self.config.local_steps)
        local_nodes, global_nodes = place[exists], snapshots.nodes(first, end)
        nodes = torch.unique(torch.cat([local_nodes, global_nodes]))
        messages = self.neighbourhood.messages(nodes, entity, snapshots)

        # H at the snapshot of each local node.
        graphs = self.neighbourhood.averaged(messages).index_select(0, torch.searchsorted(nodes, global_nodes))
        states = self._global_states(max_over(snapshots.step[global_nodes] - first, graphs, end - first))
        global_state = states.index_select(0, (snapshots.step[local_nodes] - first + 1).clamp(min=0))
        # g(s, r) in the snapshot of each local node.
        node_query = query.index_select(0, exists.nonzero()[:, 0])
        node = torch.searchsorted(nodes, local_nodes)
        around = self.neighbourhood.attended(messages, node, node_query, relation)

        inputs = torch.cat([self.dropout(around), global_state, node_query], dim=1)
        steps = inputs.new_zeros(*exists.shape, inputs.shape[1]).index_put((exists,), inputs)
        for step, present in zip(steps.unbind(dim=1), exists.unbind(dim=1), strict=True):
            state = torch.where(present[:, None], self.local_history(step, state), state)
        return state

    def _global_states(self, graphs: Tensor) -> Tensor:
        """Return H before the first snapshot, where it is zero, and after each snapshot. (snapshots + 1, dim)"""
        states = [graphs.new_zeros(1, self.config.dim)]
        for graph in graphs.split(1):
            states.append(self.global_history(graph, states[-1]))
        return torch.cat(states)
