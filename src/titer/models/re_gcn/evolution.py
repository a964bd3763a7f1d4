"""The evolution of entity and relation embeddings over the latest snapshots."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.models.common.snapshot_graph import SnapshotGraph
from titer.models.re_gcn.config import REGCNConfig

SLOPE = (1 / 8 + 1 / 3) / 2
"""Slope of the activation for negative values: the mean of RReLU, which the authors use without its randomness."""


@dataclass(frozen=True)
class Evolved:
    """The embeddings before a time step."""

    entity: Tensor  # (entities, dim) of unit length
    relation: Tensor  # (directed relations, dim) of unit length
    path: list[Tensor]  # the entity embeddings at first, and after each snapshot; each (entities, dim)


class TimeGate(nn.Module):
    r"""The update of RE-GCN, \(U * \tilde H + (1 - U) * H\) with \(U = \sigma(W H + b)\)."""

    def __init__(self, dim: int):
        super().__init__()
        self.gate = nn.Linear(dim, dim)
        nn.init.xavier_uniform_(self.gate.weight, gain=math.sqrt(2))
        nn.init.zeros_(self.gate.bias)

    def forward(self, current: Tensor, state: Tensor) -> Tensor:
        """Return the state after a snapshot. (entities, dim)"""
        return torch.lerp(state, current, torch.sigmoid(self.gate(state)))


class RecurrentGate(nn.Module):
    """The update of TiRGN: a GRU, whose result has unit length."""

    def __init__(self, dim: int):
        super().__init__()
        self.cell = nn.GRUCell(dim, dim)

    def forward(self, current: Tensor, state: Tensor) -> Tensor:
        """Return the state after a snapshot. (entities, dim)"""
        return functional.normalize(self.cell(current, state))


class GraphConvolution(nn.Module):
    """One layer of the relation-aware graph network. Entities without a fact have a map of their own."""

    def __init__(self, dim: int, dropout: float):
        super().__init__()
        self.neighbour, self.present, self.absent = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        for layer in (self.neighbour, self.present, self.absent):
            nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, entity: Tensor, relation: Tensor, graph: SnapshotGraph) -> Tensor:
        """Return the next layer's embedding of every entity. (entities, dim)"""
        active = self.present(entity.index_select(0, graph.active))
        active = active + self.neighbour(graph.mean_message(entity, relation))
        return self.dropout(functional.leaky_relu(self.absent(entity).index_copy(0, graph.active, active), SLOPE))


class Evolution(nn.Module):
    r"""The recurrence over snapshots.

    Formula:
        $$
        \begin{aligned}
        R_\tau &= \mathrm{GRU}([R; \mathrm{mean}_{v \in V_{r,\tau}} H_{\tau-1,v}], R_{\tau-1}) \\
        h^{(l+1)}_v &= f\Big(\frac{1}{|N_v|} \sum_{(u, r) \in N_v} W_1 (h^{(l)}_u + R_{\tau,r}) + W_2 h^{(l)}_v\Big),
            \qquad h^{(0)} = H_{\tau-1} \\
        H_\tau &= \mathrm{update}(h^{(L)} / \lVert h^{(L)} \rVert, H_{\tau-1})
        \end{aligned}
        $$

        \(N_v\) are the edges \((u, r, v)\) of the snapshot, \(V_r\) the entities with a fact of relation \(r\) in it.
        An entity without an edge has \(h^{(l+1)} = f(W_3 h^{(l)})\). \(f\) is a leaky ReLU. \(R_\tau\) and the first
        \(H\) have unit length.
    """

    def __init__(self, config: REGCNConfig, update: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(GraphConvolution(config.dim, config.dropout) for _ in range(config.layers))
        self.relation_cell = nn.GRUCell(2 * config.dim, config.dim)
        self.update = update

    def forward(self, entity: Tensor, relation: Tensor, graphs: list[SnapshotGraph]) -> Evolved:
        """Return the embeddings after some snapshots."""
        path = [functional.normalize(entity)]
        evolved_relation = relation
        for graph in graphs:
            context = torch.cat([relation, graph.mean_member(path[-1])], dim=1)
            evolved_relation = functional.normalize(self.relation_cell(context, evolved_relation))
            current = path[-1]
            for layer in self.layers:
                current = layer(current, evolved_relation, graph)
            path.append(self.update(functional.normalize(current), path[-1]))
        return Evolved(functional.normalize(path[-1]), functional.normalize(evolved_relation), path)
