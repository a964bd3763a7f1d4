"""The policy network: dynamic embedding, path encoding, weighted action scoring (section 3.3 of the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary
from titer.models.titer.config import TITerConfig
from titer.models.titer.decide import Candidates, Scoring
from titer.models.titer.walk import Actions


class PathState(NamedTuple):
    """The state of the path encoder."""

    h: Tensor  # (walks, state_dim)
    c: Tensor  # (walks, state_dim)


class QueryContext(NamedTuple):
    """What a question contributes to every step of its walks, computed once."""

    node: Tensor  # (questions, node_dim) e_q^{t_q}
    hidden: Tensor  # (questions, hidden_dim) its share of W_1[h; e_q; r_q]
    gate: Tensor  # (questions,) its share of W_β[h; e_q; r_q; e_n; r_n]

    def of(self, owner: Tensor) -> "QueryContext":
        """One for each walk, given which question each walk belongs to."""
        return QueryContext(*(part.index_select(0, owner) for part in self))


class Policy(nn.Module):
    r"""π_θ(a_l | s_l).

    .. math::
        \mathbf{e}_i^t &= [\mathbf{e}_i; \Phi(t_q - t)] \quad\text{with}\quad
        \Phi(\Delta t) = \sigma(\mathbf{w}\Delta t + \mathbf{b}) \\
        \mathbf{h}_l &= \mathrm{LSTM}(\mathbf{h}_{l-1}, [\mathbf{r}_l; \mathbf{e}_l^{t_l}]) \\
        \tilde{\mathbf{e}} &= \mathbf{W}_e\,\mathrm{ReLU}(\mathbf{W}_1[\mathbf{h}_l; \mathbf{e}_q^{t_q}; \mathbf{r}_q]),
        \quad \tilde{\mathbf{r}} = \mathbf{W}_r\,\mathrm{ReLU}(\mathbf{W}_1[\ldots]) \\
        \beta_n &= \mathrm{sigmoid}(\mathbf{W}_\beta[\mathbf{h}_l; \mathbf{e}_q^{t_q}; \mathbf{r}_q; \mathbf{e}_n^{t_n};
        \mathbf{r}_n]) \\
        \phi(a_n, s_l) &= \beta_n \langle\tilde{\mathbf{e}}, \mathbf{e}_n^{t_n}\rangle
        + (1 - \beta_n) \langle\tilde{\mathbf{r}}, \mathbf{r}_n\rangle

    Linear maps of a concatenation are written as sums over its parts, so that what does not change (the question's
    part, a relation's or an entity's part of β) is computed once and nothing of size (walks, actions, all
    dimensions) is ever built.
    """

    def __init__(self, vocabulary: Vocabulary, config: TITerConfig):
        super().__init__()
        self.config = config
        static_dim = config.entity_dim if config.relative_time else config.node_dim
        self.static_dim = static_dim
        self.entity = nn.Parameter(torch.empty(vocabulary.num_entities, static_dim))
        self.relation = nn.Parameter(torch.empty(vocabulary.num_relation_ids, config.relation_dim))
        # w spans time scales from one unit to 10^9 of them.
        frequencies = 1 / 10 ** torch.linspace(0, 9, config.time_dim)
        self.w = nn.Parameter(frequencies, requires_grad=config.relative_time)
        self.b = nn.Parameter(torch.zeros(config.time_dim), requires_grad=config.relative_time)
        self.lstm = nn.LSTMCell(config.relation_dim + config.node_dim, config.state_dim)
        self.W_1 = nn.Linear(config.state_dim + config.node_dim + config.relation_dim, config.hidden_dim)
        self.W_e = nn.Linear(config.hidden_dim, config.node_dim)
        self.W_r = nn.Linear(config.hidden_dim, config.relation_dim)
        action_dim = config.node_dim + config.relation_dim
        self.W_beta = nn.Linear(config.state_dim + action_dim + action_dim, 1)
        self.start = vocabulary.start
        self._initialise()

    def _initialise(self) -> None:
        if self.config.initialisation == "normal":
            nn.init.normal_(self.entity)
            nn.init.normal_(self.relation)
            return
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif "bias" in name:
                nn.init.zeros_(parameter)

    def time_encoding(self, elapsed: Tensor) -> Tensor:
        """Φ(Δt). (…, time_dim)"""
        angle = (elapsed.float() * self.config.time_scale)[..., None] * self.w + self.b
        return getattr(torch, self.config.time_activation)(angle)

    def node(self, static: Tensor, elapsed: Tensor) -> Tensor:
        """e_i^t = [e_i; Φ(Δt)]. (…, node_dim)"""
        if not self.config.relative_time:
            return static
        return torch.cat([static, self.time_encoding(elapsed)], dim=-1)

    def question(self, static: Tensor, relation: Tensor) -> QueryContext:
        """Everything about [e_q^{t_q}; r_q] that does not change on the way."""
        node = self.node(static, torch.zeros_like(relation))
        known = torch.cat([node, self.relation.index_select(0, relation)], dim=1)
        _, of_question = self._split_hidden()
        return QueryContext(
            node,
            functional.linear(known, of_question, self.W_1.bias),
            known @ self._split_gate()[1] + self.W_beta.bias,
        )

    def _split_hidden(self) -> tuple[Tensor, Tensor]:
        """The columns of W_1 that belong to h, and to e_q and r_q."""
        size = self.config.state_dim
        return self.W_1.weight[:, :size], self.W_1.weight[:, size:]

    def _split_gate(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The parts of W_β that belong to h, to e_q and r_q, to e_n, and to r_n."""
        state, node, relation = self.config.state_dim, self.config.node_dim, self.config.relation_dim
        of_state, of_question, of_node, of_relation = self.W_beta.weight[0].split(
            [state, node + relation, node, relation]
        )
        return of_state, of_question, of_node, of_relation

    def begin(self, question: QueryContext) -> PathState:
        """h_0 = LSTM(0, [r_0; e_q^{t_q}])."""
        start = self.relation[self.start].expand(len(question.node), -1)
        zero = question.node.new_zeros(len(question.node), self.config.state_dim)
        return PathState(*self.lstm(torch.cat([start, question.node], dim=1), (zero, zero)))

    def advance(self, state: PathState, relation: Tensor, static: Tensor, elapsed: Tensor, stays: Tensor) -> PathState:
        """h_l = LSTM(h_{l-1}, [r_l; e_l^{t_l}])."""
        action = torch.cat([self.relation.index_select(0, relation), self.node(static, elapsed)], dim=1)
        action = functional.dropout(action, self.config.dropout, self.training)
        return self.after(state, PathState(*self.lstm(action, state)), stays)

    def after(self, before: PathState, state: PathState, stays: Tensor) -> PathState:
        """The new state, or the one before where the agent stayed and that is to leave it alone."""
        if not self.config.freeze_state_on_self_loop:
            return state
        kept = stays[:, None]
        return PathState(torch.where(kept, before.h, state.h), torch.where(kept, before.c, state.c))

    def candidates(self, actions: Actions, rows: Tensor, asked: Tensor, num_lags: int) -> Candidates:
        """What the scoring needs to know of actions; ``rows`` holds the row of each destination's static part."""
        lags = (asked[:, None] - actions.time).clamp(0, num_lags - 1)
        return Candidates(rows, actions.relation, lags, actions.mask)

    def scoring(self, state: PathState, question: QueryContext, table: Tensor, encoding: Tensor) -> Scoring:
        """ẽ, r̃ and the parts of β in a state; ``encoding`` is Φ of every lag there can be."""
        hidden = functional.relu(torch.addmm(question.hidden, state.h, self._split_hidden()[0].T))
        hidden = functional.dropout(hidden, self.config.dropout, self.training)
        of_state, _, of_node, of_relation = self._split_gate()
        return Scoring(
            e_tilde=self.W_e(hidden),
            r_tilde=self.W_r(hidden),
            gate=question.gate + state.h @ of_state,
            entity=table,
            relation=self.relation,
            encoding=encoding,
            w_entity=of_node[: self.static_dim],
            w_relation=of_relation,
            w_time=of_node[self.static_dim :],
        )

    def encodings(self, num_lags: int) -> Tensor:
        """Φ of the lags 0, 1, …, so that it is computed once for each and not for every candidate. (lags, time_dim)"""
        lags = torch.arange(num_lags, device=self.entity.device)
        return self.time_encoding(lags) if self.config.relative_time else self.w.new_empty(num_lags, 0)
