"""Temporal relational graph attention."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.ragged import segment_softmax
from titer.models.xerte.config import XERTEConfig
from titer.models.xerte.sampling import Nodes, PriorEdges

SLOWEST = 4
"""Φ begins with frequencies from 1 a step down to 10^-4: it tells one step from two, and one century from another."""


class TimeEncoding(nn.Module):
    """Φ(Δt) = cos(ω Δt + φ), with Δt in steps of the time axis."""

    def __init__(self, dim: int):
        super().__init__()
        self.frequency = nn.Parameter(10 ** -torch.linspace(0, SLOWEST, dim))
        self.phase = nn.Parameter(torch.zeros(dim))

    def forward(self, elapsed: Tensor) -> Tensor:
        """Φ of each number of steps. (…, dim)"""
        return torch.cos(elapsed[..., None] * self.frequency + self.phase)


class Embeddings(NamedTuple):
    """Out of what everything is represented before it has heard from its neighbours."""

    entity: Tensor  # (entities, entity_dim) ē
    time: TimeEncoding  # Φ
    relation: Tensor  # (relations, node_dim) p
    asked: Tensor  # (questions,) t_q

    def lag(self, nodes: Nodes) -> Tensor:
        """t_q - t of nodes. (nodes,)"""
        return self.asked[nodes.question] - nodes.time

    def of(self, nodes: Nodes) -> Tensor:
        """[ē_e; Φ(t_q - t)] of nodes (e, t). (nodes, node_dim)"""
        return torch.cat([self.entity.index_select(0, nodes.entity), self.time(self.lag(nodes))], dim=1)


class Attention(nn.Module):
    r"""α_vu, the attention that a node v pays to an edge of relation p to u.

    .. math::
        \alpha_{vu} = \mathrm{softmax}_u(e_{vu}), \qquad
        e_{vu} = \frac{1}{\sqrt{d}} (W_{sub}[h_v; p; h_q; p_q] + b_{sub}) \cdot (W_{obj}[h_u; p; h_q; p_q] + b_{obj})

    d is ``attention_dim``.

    Linear maps of a concatenation are written as sums over its parts, each computed where there is least to compute:
    for a relation, an entity, a lag, a node or a question. What is left for an edge is to add and to multiply.
    """

    def __init__(self, config: XERTEConfig):
        super().__init__()
        self.config = config
        self.W_sub = nn.Linear(4 * config.node_dim, config.attention_dim)
        self.W_obj = nn.Linear(4 * config.node_dim, config.attention_dim)

    def forward(self, nodes: Nodes, edges: PriorEdges, hidden: Tensor, question: Tensor, known: Embeddings) -> Tensor:
        """α of all edges of nodes, given h_v of the nodes and [h_q; p_q] of the questions. (edges,)"""
        of_node, of_relation, of_question = self._parts(self.W_sub)
        asking = functional.linear(question, of_question, self.W_sub.bias)
        subject = hidden @ of_node.T + asking.index_select(0, nodes.question)  # (nodes, attention_dim)
        subject = subject.index_select(0, edges.source)  # (edges, attention_dim)
        subject = subject + (known.relation @ of_relation.T).index_select(0, edges.relation)

        of_node, of_relation, of_question = self._parts(self.W_obj)
        of_entity, of_time = of_node.split([self.config.entity_dim, self.config.time_dim], dim=1)
        new = edges.without_loops
        object = (known.entity @ of_entity.T).index_select(0, new.entity)
        lag, which = torch.unique(known.lag(new), return_inverse=True)
        object = object + (known.time(lag) @ of_time.T).index_select(0, which)
        object = torch.cat([object, hidden @ of_node.T])  # a self-loop leads to what has a representation already
        object = object + (known.relation @ of_relation.T).index_select(0, edges.relation)
        asking = functional.linear(question, of_question, self.W_obj.bias)
        object = object + asking.index_select(0, edges.target.question)

        score = (subject * object).sum(dim=1) / math.sqrt(self.config.attention_dim)
        return segment_softmax(score, edges.source, len(hidden))

    def _parts(self, linear: nn.Linear) -> tuple[Tensor, ...]:
        """The columns that belong to a node, to a relation, and to the question."""
        dim = self.config.node_dim
        return linear.weight.split([dim, dim, 2 * dim], dim=1)
