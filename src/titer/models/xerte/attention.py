"""Temporal relational graph attention."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.ragged import segment_softmax
from titer.models.xerte.config import XERTEConfig
from titer.models.xerte.sampling import Nodes, PriorEdges

MAX_EXPONENT = 4
"""Initial frequencies of Φ range from 1 to 10^-4 per time step, which separates neighbouring and distant time steps."""


class TimeEncoding(nn.Module):
    """The time encoding Φ(Δt) = cos(ω Δt + φ), with Δt in time steps."""

    def __init__(self, dim: int):
        super().__init__()
        self.frequency = nn.Parameter(10 ** -torch.linspace(0, MAX_EXPONENT, dim))
        self.phase = nn.Parameter(torch.zeros(dim))

    def forward(self, elapsed: Tensor) -> Tensor:
        """Return Φ of each number of time steps. (…, dim)"""
        return torch.cos(elapsed[..., None] * self.frequency + self.phase)


class AttentionContext(NamedTuple):
    """What the attention of a batch depends on besides the subgraphs: embeddings, time encoding and query times."""

    entity: Tensor  # (entities, entity_dim) ē
    time: TimeEncoding  # Φ
    relation: Tensor  # (relations, node_dim) p
    query_time: Tensor  # (queries,) t_q

    def lag(self, nodes: Nodes) -> Tensor:
        """Return t_q - t of nodes. (nodes,)"""
        return self.query_time[nodes.query] - nodes.time

    def embed(self, nodes: Nodes) -> Tensor:
        """Return [ē_e; Φ(t_q - t)] of nodes (e, t). (nodes, node_dim)"""
        return torch.cat([self.entity.index_select(0, nodes.entity), self.time(self.lag(nodes))], dim=1)


class Attention(nn.Module):
    r"""The attention α_vu that a node v pays to an edge of relation p to u.

    Formula:
        $$
        \begin{aligned}
        \alpha_{vu} &= \mathrm{softmax}_u(e_{vu}) \\
        e_{vu} &= \frac{1}{\sqrt{d}} (W_{sub}[h_v; p; h_q; p_q] + b_{sub}) \cdot (W_{obj}[h_u; p; h_q; p_q] + b_{obj})
        \end{aligned}
        $$

        \(d\) is ``attention_dim``.

    A linear map of a concatenation is computed as a sum of maps of its parts, each once per relation, entity, lag, node
    or query. Only sums and products remain to be computed per edge.
    """

    def __init__(self, config: XERTEConfig):
        super().__init__()
        self.config = config
        self.W_sub = nn.Linear(4 * config.node_dim, config.attention_dim)
        self.W_obj = nn.Linear(4 * config.node_dim, config.attention_dim)

    def forward(
        self, nodes: Nodes, edges: PriorEdges, hidden: Tensor, query: Tensor, context: AttentionContext
    ) -> Tensor:
        """Return α of all edges of nodes, given h_v of the nodes and [h_q; p_q] of the queries. (edges,)"""
        subject = self._subjects(nodes, edges, hidden, query, context)
        object = self._objects(edges, hidden, query, context)
        score = (subject * object).sum(dim=1) / math.sqrt(self.config.attention_dim)
        return segment_softmax(score, edges.source, len(hidden))

    def _subjects(
        self, nodes: Nodes, edges: PriorEdges, hidden: Tensor, query: Tensor, context: AttentionContext
    ) -> Tensor:
        """Return W_sub[h_v; p; h_q; p_q] + b_sub of every edge. (edges, attention_dim)"""
        of_node, of_relation, of_query = self._parts(self.W_sub)
        query = functional.linear(query, of_query, self.W_sub.bias)
        subject = hidden @ of_node.T + query.index_select(0, nodes.query)  # (nodes, attention_dim)
        subject = subject.index_select(0, edges.source)  # (edges, attention_dim)
        return subject + (context.relation @ of_relation.T).index_select(0, edges.relation)

    def _objects(self, edges: PriorEdges, hidden: Tensor, query: Tensor, context: AttentionContext) -> Tensor:
        """Return W_obj[h_u; p; h_q; p_q] + b_obj of every edge. (edges, attention_dim)"""
        of_node, of_relation, of_query = self._parts(self.W_obj)
        of_entity, of_time = of_node.split([self.config.entity_dim, self.config.time_dim], dim=1)
        new = edges.without_loops
        object = (context.entity @ of_entity.T).index_select(0, new.entity)
        lag, which = torch.unique(context.lag(new), return_inverse=True)
        object = object + (context.time(lag) @ of_time.T).index_select(0, which)
        object = torch.cat([object, hidden @ of_node.T])  # the target of a self-loop has a representation already
        object = object + (context.relation @ of_relation.T).index_select(0, edges.relation)
        query = functional.linear(query, of_query, self.W_obj.bias)
        return object + query.index_select(0, edges.target.query)

    def _parts(self, linear: nn.Linear) -> tuple[Tensor, ...]:
        """Return the columns of the node, of the relation and of the query."""
        dim = self.config.node_dim
        return linear.weight.split([dim, dim, 2 * dim], dim=1)
