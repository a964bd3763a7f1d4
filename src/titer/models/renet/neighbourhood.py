"""Aggregation of the neighbours of entities in single snapshots."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.ragged import segment_softmax, spread
from titer.graph.snapshots import Snapshots
from titer.models.common.graph_layers import RelationalConvolution, mean_over
from titer.models.renet.config import RENetConfig


@dataclass(frozen=True)
class NeighbourMessages:
    """The messages of one layer to some nodes, sorted by node."""

    own: Tensor  # (nodes, dim) W_0 h_v
    node: Tensor  # (edges,) row of the receiving node
    relation: Tensor  # (edges,)
    message: Tensor  # (edges, dim) W_r h_u


class Neighbourhood(nn.Module):
    r"""The state g of a node after some R-GCN layers, with neighbours averaged or weighted by a query's attention.

    Formula:
        $$
        \begin{aligned}
        g_t(v) &= \tanh\Big(W_0 h_v + \frac{1}{|N_v|} \sum_{(r', u) \in N_v} W_{r'} h_u\Big) \\
        g_t(s, r) &= \tanh\Big(W_0 h_s + \sum_{(r', u) \in N_s} \alpha_{r' u} W_{r'} h_u\Big) \\
        \alpha &\propto \exp\big(Q[e_s; e_r] \cdot K[e_{r'}; W_{r'} h_u]\big)
        \end{aligned}
        $$

        \(h\) are the states of the previous layer, embeddings at first. \(N\) are the edges of the snapshot at \(t\).
    """

    def __init__(self, num_relations: int, config: RENetConfig):
        super().__init__()
        self.layers = nn.ModuleList(
            RelationalConvolution(num_relations, config.dim, config.block) for _ in range(config.layers)
        )
        self.query = nn.Linear(2 * config.dim, config.attention_dim)
        self.key = nn.Linear(2 * config.dim, config.attention_dim, bias=False)

    def messages(self, nodes: Tensor, entity: Tensor, snapshots: Snapshots, depth: int = -1) -> NeighbourMessages:
        """Return the messages to some nodes, sorted and distinct, in a layer; by default in the last."""
        depth = depth % len(self.layers)
        layer = self.layers[depth]
        assert isinstance(layer, RelationalConvolution)
        row, edge = snapshots.edges(nodes)
        neighbour = snapshots.neighbour[edge]
        needed = torch.unique(torch.cat([nodes, neighbour]))
        if depth == 0:
            state = entity.index_select(0, snapshots.entity[needed])
        else:
            state = self.averaged(self.messages(needed, entity, snapshots, depth - 1))
        own = layer.own(state.index_select(0, torch.searchsorted(needed, nodes)))
        relation = snapshots.relation[edge]
        message = layer.messages(state.index_select(0, torch.searchsorted(needed, neighbour)), relation)
        return NeighbourMessages(own, row, relation, message)

    @staticmethod
    def averaged(messages: NeighbourMessages) -> Tensor:
        """Return g_t(v) of every node. (nodes, dim)"""
        return torch.tanh(messages.own + mean_over(messages.node, messages.message, len(messages.own)))

    def attended(self, messages: NeighbourMessages, node: Tensor, query: Tensor, relation: Tensor) -> Tensor:
        """Return g_t(s, r) of the given nodes, each for its own query [e_s; e_r]. (len(node), dim)"""
        num_edges = torch.bincount(messages.node, minlength=len(messages.own))
        end = num_edges.cumsum(dim=0)
        row, edge = spread((end - num_edges)[node], end[node])
        key = self.key(torch.cat([relation.index_select(0, messages.relation), messages.message], dim=1))
        logits = (self.query(query).index_select(0, row) * key.index_select(0, edge)).sum(dim=1)
        # embedding_bag sums weighted rows without a copy of each row for each query.
        begin = num_edges[node].cumsum(dim=0) - num_edges[node]
        weight = segment_softmax(logits, row, len(node))
        total = functional.embedding_bag(edge, messages.message, begin, mode="sum", per_sample_weights=weight)
        return torch.tanh(messages.own.index_select(0, node) + total)
