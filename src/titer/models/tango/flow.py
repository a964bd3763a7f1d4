"""The differential equation that moves embeddings through the latest snapshots."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.snapshots import Snapshots
from titer.models.common.graph_layers import sum_over
from titer.models.tango.config import TANGOConfig


@dataclass(frozen=True)
class Messages:
    """The edges of a graph, ready to carry messages."""

    source: Tensor  # (edges,)
    target: Tensor  # (edges,)
    relation: Tensor  # (edges, dim) ±h_r, divided by the number of edges of the target

    def mean(self, state: Tensor) -> Tensor:
        """The mean of ±h_u * h_r over the edges of each node. (nodes, dim)"""
        return sum_over(self.target, state.index_select(0, self.source) * self.relation, len(state))


class Flow(nn.Module):
    r"""dz/dt, and its solution over the latest snapshots.

    .. math::
        \frac{dz}{dt} &= \big(h^{(L)} - z\big) + w \tanh\Big(W_T \frac{1}{|T_v|} \sum_{(r, u) \in T_v} \pm\, z_u * z_r
        \Big), \\
        h^{(l+1)}_v &= h^{(l)}_v + \delta_l \tanh\Big(W_l \frac{1}{|N_v|} \sum_{(r, u) \in N_v} h^{(l)}_u * z_r\Big),
        \qquad h^{(0)} = z

    N are the edges of the current snapshot. T are those that were not in the snapshot before it (+), and those that
    were and are no more (-): the jump. Relations do not move. Every snapshot drives the flow for one unit of time,
    however many steps without facts follow it, so that a question may be asked about any time.
    """

    def __init__(self, config: TANGOConfig):
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(_nearly_identity(config.dim) for _ in range(config.layers))
        self.rate = nn.Parameter(torch.full((config.layers,), 0.3))  # δ
        self.transition = nn.Linear(config.dim, config.dim, bias=False)

    def forward(self, entity: Tensor, relation: Tensor, snapshots: Snapshots, time: int) -> Tensor:
        """The embeddings of all entities as the latest snapshots before a time leave them. (entities, dim)"""
        end = snapshots.before(time)
        first = max(end - self.config.steps, 0)
        # Nobody else hears or says anything.
        moved = torch.unique(snapshots.entity[snapshots.nodes(max(first - 1, 0), end)])
        state = entity.index_select(0, moved)
        for step in range(first, end):
            state = self._after(state, *self._messages(snapshots, step, moved, relation))
        return entity.index_copy(0, moved, state)

    def _after(self, state: Tensor, graph: Messages, changes: Messages) -> Tensor:
        """What becomes of a state in one unit of time. (nodes, dim)"""
        from torchdiffeq import odeint

        unit = torch.tensor([0.0, 1.0], device=state.device)
        path = odeint(lambda _, z: self._derivative(z, graph, changes), state, unit, method=self.config.solver)
        assert isinstance(path, Tensor)
        return path[-1]

    def _derivative(self, state: Tensor, graph: Messages, changes: Messages) -> Tensor:
        layer_state = state
        for layer, rate in zip(self.layers, self.rate.unbind(), strict=True):
            layer_state = layer_state + rate * torch.tanh(layer(graph.mean(layer_state)))
        jump = torch.tanh(self.transition(changes.mean(state)))
        return layer_state - state + self.config.jump * jump

    @staticmethod
    def _messages(snapshots: Snapshots, step: int, moved: Tensor, relation: Tensor) -> tuple[Messages, Messages]:
        """The edges of a snapshot, and those that it has or lacks unlike the one before."""
        _, edges = snapshots.edges(snapshots.nodes(step, step + 1))
        _, before = snapshots.edges(snapshots.nodes(max(step - 1, 0), step))
        new, old = edges[snapshots.begins[edges]], before[snapshots.ceases[before]]

        def messages(edges: Tensor, sign: Tensor) -> Messages:
            target = torch.searchsorted(moved, snapshots.entity[snapshots.node[edges]])
            source = torch.searchsorted(moved, snapshots.object[edges])
            share = sign / torch.bincount(target, minlength=len(moved))[target]
            return Messages(source, target, relation.index_select(0, snapshots.relation[edges]) * share[:, None])

        sign = torch.cat([torch.ones_like(new), -torch.ones_like(old)])
        return messages(edges, torch.ones_like(edges)), messages(torch.cat([new, old]), sign)


def _nearly_identity(dim: int) -> nn.Linear:
    """A map that begins by letting through what neighbours are, so that a decoder can recognise them."""
    layer = nn.Linear(dim, dim, bias=False)
    with torch.no_grad():
        layer.weight.mul_(0.3).add_(torch.eye(dim))
    return layer
