"""Temporal relational graph attention, and how news travels back through a subgraph."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.ragged import segment_softmax
from titer.models.xerte.config import XERTEConfig
from titer.models.xerte.sampling import Edges, Nodes

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
    """Tables out of which everything is represented before it has heard from its neighbours."""

    entity: Tensor  # (entities, entity_dim) ē
    encoding: Tensor  # (lags, time_dim) Φ of every lag there can be
    relation: Tensor  # (relations, node_dim) p
    asked: Tensor  # (questions,) t_q

    def lag(self, nodes: Nodes) -> Tensor:
        """t_q - t of nodes, as a row of ``encoding``. (nodes,)"""
        return (self.asked[nodes.question] - nodes.time).clamp(max=len(self.encoding) - 1)

    def of(self, nodes: Nodes) -> Tensor:
        """[ē_e; Φ(t_q - t)] of nodes (e, t). (nodes, node_dim)"""
        entity, time = self.entity.index_select(0, nodes.entity), self.encoding.index_select(0, self.lag(nodes))
        return torch.cat([entity, time], dim=1)


class Link(NamedTuple):
    """The edges that were kept between the nodes of one step and those of the next."""

    source: Tensor  # (edges,) the place of v among the nodes of the step
    target: Tensor  # (edges,) the place of u among those of the next
    alpha: Tensor  # (edges,) α_vu


class Attention(nn.Module):
    r"""α_vu, the attention that a node v pays to an edge of relation p to u, and what v hears along its edges.

    .. math::
        e_{vu} &= W_{sub}[h_v; p; h_q; p_q] \cdot W_{obj}[h_u; p; h_q; p_q], \quad
        \alpha_{vu} = \mathrm{softmax}_u(e_{vu}) \\
        h'_v &= \mathrm{LeakyReLU}(W_h(\gamma h_v + (1 - \gamma) \sum_u \alpha_{vu} h'_u) + b), \quad p' = W_h p + b

    Linear maps of a concatenation are written as sums over its parts, each computed where there is least to compute:
    for a relation, an entity, a lag, a node or a question. What is left for an edge is to add and to multiply.
    """

    def __init__(self, config: XERTEConfig):
        super().__init__()
        self.config = config
        self.W_sub = nn.Linear(4 * config.node_dim, config.attention_dim)
        self.W_obj = nn.Linear(4 * config.node_dim, config.attention_dim)
        self.W_h = nn.Linear(config.node_dim, config.node_dim)

    def forward(self, nodes: Nodes, edges: Edges, hidden: Tensor, question: Tensor, known: Embeddings) -> Tensor:
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
        object = object + (known.encoding @ of_time.T).index_select(0, known.lag(new))
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

    def told_back(self, hidden: list[Tensor], links: list[Link]) -> list[Tensor]:
        """The reverse update: the nodes reached last tell those that led to them, and so on back to the question's."""
        told = [functional.leaky_relu(self.W_h(hidden[-1]))]
        gamma = self.config.gamma
        for before, link in zip(reversed(hidden[:-1]), reversed(links), strict=True):
            message = link.alpha[:, None] * told[-1].index_select(0, link.target)
            heard = torch.zeros_like(before).index_add(0, link.source, message)
            told.append(functional.leaky_relu(self.W_h(gamma * before + (1 - gamma) * heard)))
        return told[::-1]
