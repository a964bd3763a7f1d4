"""RE-NET behind the common base."""

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
    r"""Reads the neighbourhood of the question's subject step by step through a recurrent network.

    Jin, Qu, Jin, Ren: *Recurrent Event Network: Autoregressive Structure Inference over Temporal Knowledge Graphs*,
    EMNLP 2020.

    .. math::
        H_t &= \mathrm{GRU}_1(\max\nolimits_v g_t(v), H_{t-1}) \\
        h_t(s, r) &= \mathrm{GRU}_2([g_t(s, r); H_t; e_s; e_r], h_{t-1}(s, r)) \\
        P(o \mid s, r, t) &\propto \exp([e_s; e_r; h_{t-1}(s, r)] \cdot w_o + b_o), \qquad w_o = P e_o

    g is what a ``Neighbourhood`` says in a step. The local history h reads the latest steps in which the subject has
    facts, the global one H the latest steps of all; where a step of the subject lies before those, its H is zero. A
    subject without past has h = 0, and hears of no H. Memory is bounded by the latest steps and what is around their
    nodes, however long the history.

    Where this differs from the paper: its relational graph aggregator and its attentive pooling, which it tries one at
    a time, are one here. The paper's attention is additive, :math:`v^\top \tanh(W [e_s; e_r; e_u])`, and pools
    embeddings e_u; here it is a product and pools messages. There is one layer by default instead of two, with tanh
    after it. w_o are tied to the embeddings, with a bias b_o. Only P(o | s, r, t) is learned, not P(r | s) and P(s);
    H is learned with the rest and not beforehand; other true answers of the moment do not compete; and in training
    some questions must do without e_s or e_r (``question_dropout``). The past is that of facts, not of the model's own
    forecasts, and both directions of a fact are questions to the same network.

    An entity that training never saw keeps the embedding it began with.
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
        self.expected = nn.Linear(3 * dim, dim)  # P
        self.usual = nn.Parameter(torch.zeros(vocabulary.num_entities, 1))  # b
        self.dropout = nn.Dropout(self.config.dropout)

    def scores_at(self, queries: Queries, time: int, history: History) -> Tensor:
        """Scores for questions that are all of one time. (queries, num_entities)"""
        answer = append_mean_rows(self.entity, history)
        entity, relation = self.dropout(answer), self.dropout(self.relation)
        # Many questions of a moment are the same.
        question, place = torch.unique(queries.subject * len(relation) + queries.relation, return_inverse=True)
        subject = question // len(relation)
        asked = [entity.index_select(0, subject), relation.index_select(0, question % len(relation))]
        read = self._read(subject, torch.cat(asked, dim=1), entity, relation, history.snapshots, time)
        known = [self._sometimes(part) for part in asked]
        expected = self.expected(torch.cat([*known, self.dropout(read)], dim=1)).index_select(0, place)
        return torch.addmm(append_mean_rows(self.usual, history)[:, 0], expected, answer.T)

    def _sometimes(self, rows: Tensor) -> Tensor:
        """The rows, of which some are zero in training.

        The others stay as they are: unlike in dropout, a row that is there should look as it will at test.
        """
        if not self.training:
            return rows
        return rows * (torch.rand(len(rows), 1, device=rows.device) >= self.config.question_dropout)

    def _read(
        self, subject: Tensor, asked: Tensor, entity: Tensor, relation: Tensor, snapshots: Snapshots, time: int
    ) -> Tensor:
        """h(s, r) of every question [e_s; e_r], zero where the subject has no past. (questions, dim)"""
        state = asked.new_zeros(len(asked), self.config.dim)
        end = snapshots.before(time)
        if end == 0:
            return state
        first = max(end - self.config.global_steps, 0)
        place, exists = snapshots.latest(subject, end, self.config.local_steps)
        local, world = place[exists], snapshots.nodes(first, end)
        nodes = torch.unique(torch.cat([local, world]))
        heard = self.neighbourhood.heard(nodes, entity, snapshots)

        # What happened in the world by each step.
        graphs = self.neighbourhood.alike(heard).index_select(0, torch.searchsorted(nodes, world))
        worlds = self._worlds(max_over(snapshots.step[world] - first, graphs, end - first))
        by_then = worlds.index_select(0, (snapshots.step[local] - first + 1).clamp(min=0))
        # What happened around the subject in each step.
        asking = asked.index_select(0, exists.nonzero()[:, 0])
        around = self.neighbourhood.attended(heard, torch.searchsorted(nodes, local), asking, relation)

        seen = torch.cat([self.dropout(around), by_then, asking], dim=1)
        steps = seen.new_zeros(*exists.shape, seen.shape[1]).index_put((exists,), seen)
        for step, present in zip(steps.unbind(dim=1), exists.unbind(dim=1), strict=True):
            state = torch.where(present[:, None], self.local_history(step, state), state)
        return state

    def _worlds(self, graphs: Tensor) -> Tensor:
        """H after each snapshot; before the first it is zero. (snapshots + 1, dim)"""
        worlds = [graphs.new_zeros(1, self.config.dim)]
        for graph in graphs.split(1):
            worlds.append(self.global_history(graph, worlds[-1]))
        return torch.cat(worlds)
