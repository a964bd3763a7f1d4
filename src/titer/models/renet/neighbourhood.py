"""What entities hear from their neighbours in the steps in which they have facts."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.ragged import segment_softmax, spread
from titer.graph.snapshots import Snapshots
from titer.models.common.graph_layers import RelationalConvolution, mean_over
from titer.models.renet.config import RENetConfig


@dataclass(frozen=True)
class Heard:
    """The messages of the last layer to some nodes, node by node."""

    own: Tensor  # (nodes, dim) W_0 h_v
    node: Tensor  # (edges,) which of the nodes
    relation: Tensor  # (edges,)
    message: Tensor  # (edges, dim) W_r h_u


class Neighbourhood(nn.Module):
    r"""g: the state of a node after some layers of R-GCN, in which its neighbours count alike, or as a question wants.

    .. math::
        g_t(v) &= \tanh\Big(W_0 h_v + \frac{1}{|N_v|} \sum_{(r', u) \in N_v} W_{r'} h_u\Big) \\
        g_t(s, r) &= \tanh\Big(W_0 h_s + \sum_{(r', u) \in N_s} \alpha_{r' u} W_{r'} h_u\Big), \qquad
        \alpha \propto \exp\big(Q[e_s; e_r] \cdot K[e_{r'}; W_{r'} h_u]\big)

    h are states of the layer before, embeddings at first, and N the edges of step t.
    """

    def __init__(self, num_relations: int, config: RENetConfig):
        super().__init__()
        self.layers = nn.ModuleList(
            RelationalConvolution(num_relations, config.dim, config.block) for _ in range(config.layers)
        )
        self.query = nn.Linear(2 * config.dim, config.attention_dim)
        self.key = nn.Linear(2 * config.dim, config.attention_dim, bias=False)

    def heard(self, nodes: Tensor, entity: Tensor, snapshots: Snapshots, depth: int = -1) -> Heard:
        """What some nodes, each given once and in order, hear in a layer; by default in the last."""
        depth = depth % len(self.layers)
        layer = self.layers[depth]
        assert isinstance(layer, RelationalConvolution)
        row, edge = snapshots.edges(nodes)
        neighbour = snapshots.neighbour[edge]
        needed = torch.unique(torch.cat([nodes, neighbour]))
        if depth == 0:
            state = entity.index_select(0, snapshots.entity[needed])
        else:
            state = self.alike(self.heard(needed, entity, snapshots, depth - 1))
        own = layer.own(state.index_select(0, torch.searchsorted(needed, nodes)))
        relation = snapshots.relation[edge]
        message = layer.messages(state.index_select(0, torch.searchsorted(needed, neighbour)), relation)
        return Heard(own, row, relation, message)

    @staticmethod
    def alike(heard: Heard) -> Tensor:
        """g_t(v) of every node. (nodes, dim)"""
        return torch.tanh(heard.own + mean_over(heard.node, heard.message, len(heard.own)))

    def attended(self, heard: Heard, node: Tensor, asked: Tensor, relation: Tensor) -> Tensor:
        """g_t(s, r) of the given rows of nodes, each for a question [e_s; e_r] of its own. (rows, dim)"""
        edges = torch.bincount(heard.node, minlength=len(heard.own))
        end = edges.cumsum(dim=0)
        row, edge = spread((end - edges)[node], end[node])
        key = self.key(torch.cat([relation.index_select(0, heard.relation), heard.message], dim=1))
        logits = (self.query(asked).index_select(0, row) * key.index_select(0, edge)).sum(dim=1)
        # Sums of weighted rows, without a copy of each row for each question.
        begin = edges[node].cumsum(dim=0) - edges[node]
        weight = segment_softmax(logits, row, len(node))
        mix = functional.embedding_bag(edge, heard.message, begin, mode="sum", per_sample_weights=weight)
        return torch.tanh(heard.own.index_select(0, node) + mix)
