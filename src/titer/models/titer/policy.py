"""The policy network: dynamic embedding, path encoding and weighted action scoring (section 3.3 of the paper)."""

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
    """The terms that a query contributes to every hop of its walks, computed once per query."""

    node: Tensor  # (queries, node_dim) e_q^{t_q}
    hidden: Tensor  # (queries, hidden_dim) the terms of W_1[h; e_q; r_q] from e_q and r_q
    gate: Tensor  # (queries,) the terms of W_β[h; e_q; r_q; e_n; r_n] from e_q and r_q

    def of(self, owner: Tensor) -> "QueryContext":
        """Return the context of each walk, given the query that each walk belongs to."""
        return QueryContext(*(part.index_select(0, owner) for part in self))


class Policy(nn.Module):
    r"""The policy π_θ(a_l | s_l).

    $$
    \begin{aligned}
        \mathbf{e}_i^t &= [\mathbf{e}_i; \Phi(t_q - t)] \quad\text{with}\quad
        \Phi(\Delta t) = \sigma(\mathbf{w}\Delta t + \mathbf{b}) \\
        \mathbf{h}_l &= \mathrm{LSTM}(\mathbf{h}_{l-1}, [\mathbf{r}_l; \mathbf{e}_l^{t_l}]) \\
        \tilde{\mathbf{e}} &= \mathbf{W}_e\,\mathrm{ReLU}(\mathbf{W}_1[\mathbf{h}_l; \mathbf{e}_q^{t_q}; \mathbf{r}_q]),
        \quad \tilde{\mathbf{r}} = \mathbf{W}_r\,\mathrm{ReLU}(\mathbf{W}_1[\ldots]) \\
        \beta_n &= \mathrm{sigmoid}(\mathbf{W}_\beta[\mathbf{h}_l; \mathbf{e}_q^{t_q}; \mathbf{r}_q; \mathbf{e}_n^{t_n};
        \mathbf{r}_n]) \\
        \phi(a_n, s_l) &= \beta_n \langle\tilde{\mathbf{e}}, \mathbf{e}_n^{t_n}\rangle
        + (1 - \beta_n) \langle\tilde{\mathbf{r}}, \mathbf{r}_n\rangle
    \end{aligned}
    $$

    Linear maps of a concatenation are computed as sums over its parts. Parts that do not change between hops, such as
    the query's terms, are computed once, and no tensor of size (walks, actions, all dimensions) is needed.
    """

    def __init__(self, vocabulary: Vocabulary, config: TITerConfig):
        super().__init__()
        self.config = config
        static_dim = config.entity_dim if config.relative_time else config.node_dim
        self.static_dim = static_dim
        self.entity = nn.Parameter(torch.empty(vocabulary.num_entities, static_dim))
        self.relation = nn.Parameter(torch.empty(vocabulary.num_relation_ids, config.relation_dim))
        # The frequencies w cover time scales from 1 to 10^9 units.
        frequencies = 1 / 10 ** torch.linspace(0, 9, config.time_dim)
        self.w = nn.Parameter(frequencies, requires_grad=config.relative_time)
        self.b = nn.Parameter(torch.zeros(config.time_dim), requires_grad=config.relative_time)
        self.lstm = nn.LSTMCell(config.relation_dim + config.node_dim, config.state_dim)
        self.W_1 = nn.Linear(config.state_dim + config.node_dim + config.relation_dim, config.hidden_dim)
        self.W_e = nn.Linear(config.hidden_dim, config.node_dim)
        self.W_r = nn.Linear(config.hidden_dim, config.relation_dim)
        action_dim = config.node_dim + config.relation_dim
        self.W_beta = nn.Linear(config.state_dim + action_dim + action_dim, 1)
        self.start = vocabulary.start if config.start_relation == "own" else vocabulary.self_loop
        self._initialise()

    def _initialise(self) -> None:
        if self.config.time_initialisation == "xavier":
            nn.init.xavier_uniform_(self.w.data[:, None])  # w as the matrix of a linear map from Δt
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
        """Return Φ(Δt). (…, time_dim)"""
        angle = (elapsed.float() * self.config.time_scale)[..., None] * self.w + self.b
        return getattr(torch, self.config.time_activation)(angle)

    def node(self, static: Tensor, elapsed: Tensor) -> Tensor:
        """Return e_i^t = [e_i; Φ(Δt)]. (…, node_dim)"""
        if not self.config.relative_time:
            return static
        return torch.cat([static, self.time_encoding(elapsed)], dim=-1)

    def query_context(self, static: Tensor, relation: Tensor) -> QueryContext:
        """Return the terms of [e_q^{t_q}; r_q], which are the same at every hop.

        ``static`` has the static representations of the subjects.
        """
        node = self.node(static, torch.zeros_like(relation))
        known = torch.cat([node, self.relation.index_select(0, relation)], dim=1)
        _, of_query = self._split_hidden()
        return QueryContext(
            node,
            functional.linear(known, of_query, self.W_1.bias),
            known @ self._split_gate()[1] + self.W_beta.bias,
        )

    def _split_hidden(self) -> tuple[Tensor, Tensor]:
        """Return the columns of W_1 for h, and for e_q and r_q."""
        size = self.config.state_dim
        return self.W_1.weight[:, :size], self.W_1.weight[:, size:]

    def _split_gate(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the parts of W_β for h, for e_q and r_q, for e_n, and for r_n."""
        state, node, relation = self.config.state_dim, self.config.node_dim, self.config.relation_dim
        of_state, of_query, of_node, of_relation = self.W_beta.weight[0].split([state, node + relation, node, relation])
        return of_state, of_query, of_node, of_relation

    def begin(self, context: QueryContext) -> PathState:
        """Return h_0 = LSTM(0, [r_0; e_q^{t_q}])."""
        start = self.relation[self.start].expand(len(context.node), -1)
        zero = context.node.new_zeros(len(context.node), self.config.state_dim)
        return PathState(*self.lstm(torch.cat([start, context.node], dim=1), (zero, zero)))

    def advance(self, state: PathState, relation: Tensor, static: Tensor, elapsed: Tensor, stays: Tensor) -> PathState:
        """Return h_l = LSTM(h_{l-1}, [r_l; e_l^{t_l}]). ``stays`` marks walks whose last action was a self-loop."""
        action = torch.cat([self.relation.index_select(0, relation), self.node(static, elapsed)], dim=1)
        action = functional.dropout(action, self.config.dropout, self.training)
        return self.after(state, PathState(*self.lstm(action, state)), stays)

    def after(self, before: PathState, state: PathState, stays: Tensor) -> PathState:
        """Return the new state, or the previous one for self-loops if the settings freeze it."""
        if not self.config.freeze_state_on_self_loop:
            return state
        kept = stays[:, None]
        return PathState(torch.where(kept, before.h, state.h), torch.where(kept, before.c, state.c))

    def candidates(self, actions: Actions, rows: Tensor, query_time: Tensor, num_lags: int) -> Candidates:
        """Return actions in the form for scoring; ``rows`` has the table row of each destination."""
        lags = (query_time[:, None] - actions.time).clamp(0, num_lags - 1)
        return Candidates(rows, actions.relation, lags, actions.mask)

    def scoring(self, state: PathState, context: QueryContext, table: Tensor, encoding: Tensor) -> Scoring:
        """Return ẽ, r̃ and the parts of β for a state; ``encoding`` is Φ of every possible lag."""
        hidden = functional.relu(torch.addmm(context.hidden, state.h, self._split_hidden()[0].T))
        hidden = functional.dropout(hidden, self.config.dropout, self.training)
        of_state, _, of_node, of_relation = self._split_gate()
        return Scoring(
            e_tilde=self.W_e(hidden),
            r_tilde=self.W_r(hidden),
            gate=context.gate + state.h @ of_state,
            entity=table,
            relation=self.relation,
            encoding=encoding,
            w_entity=of_node[: self.static_dim],
            w_relation=of_relation,
            w_time=of_node[self.static_dim :],
        )

    def encodings(self, num_lags: int) -> Tensor:
        """Return Φ of the lags 0, 1, …, to be computed once per lag instead of once per candidate. (lags, time_dim)"""
        lags = torch.arange(num_lags, device=self.entity.device)
        return self.time_encoding(lags) if self.config.relative_time else self.w.new_empty(num_lags, 0)
