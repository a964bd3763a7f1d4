"""RE-NET: what happened around the subject, and in the world, read step by step."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.snapshots import Snapshots
from titer.models.by_time import ByTimeModel
from titer.models.entities import with_newcomers
from titer.models.graph_layers import RelationalConvolution, max_over
from titer.models.registry import register


@dataclass(frozen=True)
class RENetConfig:
    """Settings of ``RENet``."""

    dim: int = 200
    """Size of embeddings and states."""
    layers: int = 2
    """Layers of R-GCN: how far around the subject a step is seen."""
    block: int = 2
    """Size of the blocks in the matrices of the relations; it divides ``dim``."""
    local_steps: int = 10
    """How many steps are read in which the subject has facts: the latest."""
    global_steps: int = 10
    """How many steps are read as a whole: the latest."""
    dropout: float = 0.5
    """Share of embeddings and states that is left out in training."""

    def __post_init__(self) -> None:
        for name in ("dim", "layers", "block", "local_steps", "global_steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} must be at least 1, not {getattr(self, name)}")
        if self.dim % self.block:
            raise ConfigError(f"model.block must divide model.dim, which {self.block} does not with {self.dim}")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"model.dropout must be at least 0 and below 1, not {self.dropout}")


@register
class RENet(ByTimeModel):
    r"""Jin, Qu, Jin, Ren: *Recurrent Event Network: Autoregressive Structure Inference over Temporal Knowledge
    Graphs*, EMNLP 2020.

    .. math::
        H_t &= \mathrm{GRU}_1(g(G_t), H_{t-1}), \qquad g(G_t) = \max\nolimits_v g_t(v) \\
        h_t(s, r) &= \mathrm{GRU}_2([g_t(s); H_t; e_s; e_r], h_{t-1}(s, r)) \\
        P(o \mid s, r, t) &\propto \exp([e_s; e_r; h_{t-1}(s, r)] \cdot w_o + b_o)

    g_t(v) is the state of v after some layers of R-GCN on the graph of step t. The local history h reads the latest
    steps in which the subject has facts, the global one H the latest steps of all; where a step of the subject lies
    before those, its H is zero. The past is that of facts, not of the model's own forecasts, and both directions of a
    fact are questions to the same network. Memory is bounded by the latest steps and the facts around their nodes,
    however long the history.
    """

    name = "renet"
    Config = RENetConfig
    config: RENetConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: RENetConfig | None = None):
        super().__init__(vocabulary, axis, config)
        dim, relations = self.config.dim, vocabulary.num_directed_relations
        self.entity = nn.Parameter(0.1 * torch.randn(vocabulary.num_entities, dim))
        self.relation = nn.Parameter(0.1 * torch.randn(relations, dim))
        self.layers = nn.ModuleList(
            RelationalConvolution(relations, dim, self.config.block) for _ in range(self.config.layers)
        )
        self.global_history = nn.GRUCell(dim, dim)
        self.local_history = nn.GRUCell(4 * dim, dim)
        # w_o, and b_o behind it.
        self.answer = nn.Parameter(0.05 * torch.randn(vocabulary.num_entities, 3 * dim + 1))
        self.dropout = nn.Dropout(self.config.dropout)

    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """Scores for questions that are all of one time. (queries, num_entities)"""
        entity = self.dropout(with_newcomers(self.entity, history))
        relation = self.dropout(self.relation)
        asked = [entity.index_select(0, queries.subject), relation.index_select(0, queries.relation)]
        state = self._history(queries.subject, torch.cat(asked, dim=1), history.snapshots, time, entity)
        answer = with_newcomers(self.answer, history)
        return torch.addmm(answer[:, -1], torch.cat([*asked, self.dropout(state)], dim=1), answer[:, :-1].T)

    def _history(self, subject: Tensor, asked: Tensor, snapshots: Snapshots, time: int, entity: Tensor) -> Tensor:
        """h(s, r) of every question, zero where the subject has no past. (queries, dim)"""
        state = asked.new_zeros(len(asked), self.config.dim)
        end = snapshots.before(time)
        if end == 0:
            return state
        first = max(end - self.config.global_steps, 0)
        subject, question = torch.unique(subject, return_inverse=True)
        local, exists = snapshots.latest(subject, end, self.config.local_steps)
        world = snapshots.nodes(first, end)
        nodes = torch.unique(torch.cat([local[exists], world]))
        around = self._around(nodes, len(self.layers), snapshots, entity)

        graphs = around.index_select(0, torch.searchsorted(nodes, world))
        worlds = self._worlds(max_over(snapshots.step[world] - first, graphs, end - first))
        by_then = (snapshots.step[local] - first + 1).clamp(min=0) * exists
        seen = self.dropout(around)[torch.searchsorted(nodes, local)]
        steps = torch.cat([seen, worlds[by_then]], dim=2)  # (subjects, steps, 2 dim)
        for step, present in zip(steps.unbind(dim=1), exists.unbind(dim=1), strict=True):
            after = self.local_history(torch.cat([step.index_select(0, question), asked], dim=1), state)
            state = torch.where(present[question, None], after, state)
        return state

    def _worlds(self, graphs: Tensor) -> Tensor:
        """H after each snapshot; before the first it is zero. (snapshots + 1, dim)"""
        worlds = [graphs.new_zeros(1, self.config.dim)]
        for graph in graphs.split(1):
            worlds.append(self.global_history(graph, worlds[-1]))
        return torch.cat(worlds)

    def _around(self, nodes: Tensor, depth: int, snapshots: Snapshots, entity: Tensor) -> Tensor:
        """The states of nodes after so many layers of R-GCN on the graphs of their steps. (nodes, dim)"""
        if depth == 0:
            return entity.index_select(0, snapshots.entity[nodes])
        row, edge = snapshots.edges(nodes)
        neighbours = snapshots.target[edge]
        inner = torch.unique(torch.cat([nodes, neighbours]))
        state = self._around(inner, depth - 1, snapshots, entity)
        own = state.index_select(0, torch.searchsorted(inner, nodes))
        neighbour = state.index_select(0, torch.searchsorted(inner, neighbours))
        layer = self.layers[depth - 1]
        return torch.tanh(layer(own, neighbour, snapshots.relation[edge], row))
