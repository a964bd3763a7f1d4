"""The differential equation of the embeddings, solved over the latest snapshots."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.snapshots import Snapshots
from titer.models.common.graph_layers import sum_over
from titer.models.tango.config import TANGOConfig


@dataclass(frozen=True)
class MessageEdges:
    """The edges of a graph, prepared for message passing."""

    source: Tensor  # (edges,)
    target: Tensor  # (edges,)
    relation: Tensor  # (edges, dim) ±h_r, divided by the number of edges of the target

    def mean(self, state: Tensor) -> Tensor:
        """Return the mean of ±h_u * h_r over the edges of each node. (nodes, dim)"""
        return sum_over(self.target, state.index_select(0, self.source) * self.relation, len(state))


class Flow(nn.Module):
    r"""The derivative dz/dt of the entity embeddings, and its solution over the latest snapshots.

    Formula:
        $$
        \begin{aligned}
        \frac{dz}{dt} &= \big(h^{(L)} - z\big) + w \tanh\Big(W_T \frac{1}{|T_v|} \sum_{(r, u) \in T_v} \pm\, z_u * z_r
            \Big) \\
        h^{(l+1)}_v &= h^{(l)}_v + \delta_l \tanh\Big(W_l \frac{1}{|N_v|} \sum_{(r, u) \in N_v} h^{(l)}_u * z_r\Big),
            \qquad h^{(0)} = z
        \end{aligned}
        $$

        \(N\) are the edges of the current snapshot. \(T\), the jump, are the edges that the previous snapshot does not
        have (\(+\)), and those that only the previous snapshot has (\(-\)). Relation embeddings are constant. Every
        snapshot lasts one unit of time, however many time steps without facts follow it, so that a query can have any
        time.
    """

    def __init__(self, config: TANGOConfig):
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(_nearly_identity(config.dim) for _ in range(config.layers))
        self.rate = nn.Parameter(torch.full((config.layers,), 0.3))  # δ
        self.transition = nn.Linear(config.dim, config.dim, bias=False)

    def forward(self, entity: Tensor, relation: Tensor, snapshots: Snapshots, time: int) -> Tensor:
        """Return the embeddings of all entities after the latest snapshots before a time. (entities, dim)"""
        end = snapshots.before(time)
        first = max(end - self.config.steps, 0)
        # Only these entities have edges; the embeddings of the others do not change.
        active = torch.unique(snapshots.entity[snapshots.nodes(max(first - 1, 0), end)])
        state = entity.index_select(0, active)
        for step in range(first, end):
            state = self._solve(state, *self._edges(snapshots, step, active, relation))
        return entity.index_copy(0, active, state)

    def _solve(self, state: Tensor, graph: MessageEdges, changes: MessageEdges) -> Tensor:
        """Return the state after one unit of time. (nodes, dim)"""
        from torchdiffeq import odeint

        def derivative(_time: Tensor, z: Tensor) -> Tensor:
            return self._derivative(z, graph, changes)

        unit = torch.tensor([0.0, 1.0], device=state.device)
        path = odeint(derivative, state, unit, method=self.config.solver)
        assert isinstance(path, Tensor)
        return path[-1]

    def _derivative(self, state: Tensor, graph: MessageEdges, changes: MessageEdges) -> Tensor:
        """Return dz/dt. (nodes, dim)"""
        layer_state = state
        for layer, rate in zip(self.layers, self.rate.unbind(), strict=True):
            layer_state = layer_state + rate * torch.tanh(layer(graph.mean(layer_state)))
        jump = torch.tanh(self.transition(changes.mean(state)))
        return layer_state - state + self.config.jump * jump

    @staticmethod
    def _edges(snapshots: Snapshots, step: int, active: Tensor, relation: Tensor) -> tuple[MessageEdges, MessageEdges]:
        """Return the edges of a snapshot, and those in which it differs from the previous one."""
        _, edges = snapshots.edges(snapshots.nodes(step, step + 1))
        _, before = snapshots.edges(snapshots.nodes(max(step - 1, 0), step))
        new, old = edges[snapshots.begins[edges]], before[snapshots.ceases[before]]

        def message_edges(edges: Tensor, sign: Tensor) -> MessageEdges:
            target = torch.searchsorted(active, snapshots.entity[snapshots.node[edges]])
            source = torch.searchsorted(active, snapshots.object[edges])
            share = sign / torch.bincount(target, minlength=len(active))[target]
            return MessageEdges(source, target, relation.index_select(0, snapshots.relation[edges]) * share[:, None])

        sign = torch.cat([torch.ones_like(new), -torch.ones_like(old)])
        return message_edges(edges, torch.ones_like(edges)), message_edges(torch.cat([new, old]), sign)


def _nearly_identity(dim: int) -> nn.Linear:
    """Return a linear map near the identity, so that the decoder can use neighbours from the start."""
    layer = nn.Linear(dim, dim, bias=False)
    with torch.no_grad():
        layer.weight.mul_(0.3).add_(torch.eye(dim))
    return layer
