"""TITer's environment and policy in plain loops: one walk and one action at a time."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from strategies import directed_edges
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.queries import Queries
from titer.models.titer.config import TITerConfig
from titer.models.titer.model import TITer
from titer.models.titer.policy import PathState

SMALL: dict[str, Any] = {
    "entity_dim": 6,
    "time_dim": 4,
    "relation_dim": 5,
    "state_dim": 7,
    "hidden_dim": 8,
    "num_snapshots": 5,
    "inductive_mean": False,
}


def make_model(vocabulary: Vocabulary, **settings: Any) -> TITer:
    """Return a small model in evaluation mode, with the same weights on every call."""
    torch.manual_seed(0)
    return TITer(vocabulary, TimeAxis(), TITerConfig(**{**SMALL, **settings})).eval()


class Action(NamedTuple):
    relation: int
    object: int
    time: int
    column: int
    """The column of the action in the model's tensors: the edges, latest first, and then the self-loop."""


class Hop(NamedTuple):
    action: Action
    log_probability: float
    beta: float


@dataclass(frozen=True)
class Walk:
    hops: tuple[Hop, ...]

    @property
    def log_probability(self) -> float:
        return sum(hop.log_probability for hop in self.hops)

    @property
    def end(self) -> int:
        return self.hops[-1].action.object


class Agent:
    """The agent for one query."""

    def __init__(self, model: TITer, facts: Facts, query: Queries):
        self.model, self.policy, self.config = model, model.policy, model.config
        self.vocabulary = model.vocabulary
        self.edges = directed_edges(facts, self.vocabulary)
        self.subject, self.query_time = int(query.subject), int(query.time)
        self.e_q = self.policy.node(self.policy.entity[query.subject], torch.zeros(1))
        self.r_q = self.policy.relation[query.relation]

    def start(self) -> PathState:
        zero = torch.zeros(1, self.config.state_dim)
        own = self.config.start_relation == "own"
        start = self.policy.relation[self.vocabulary.start if own else self.vocabulary.self_loop][None]
        return PathState(*self.policy.lstm(torch.cat([start, self.e_q], dim=1), (zero, zero)))

    def actions(self, entity: int, time: int, first: bool) -> list[Action]:
        """Return the latest edges, latest first, then the self-loop where it is allowed."""
        edges = [
            (r, o, t)
            for s, r, o, t in self.edges
            if s == entity and t < self.query_time and (t < time if self.config.strictly_back else t <= time)
        ]
        num_edges = self.config.num_edges
        if self.config.loop_counts_as_edge and (self.config.may_stay_at_first or not first):
            num_edges -= 1
        latest = sorted(edges, key=lambda edge: edge[2])[::-1][:num_edges]
        found = [Action(*edge, column) for column, edge in enumerate(latest)]
        if first and latest and not self.config.may_stay_at_first:
            return found
        return [*found, Action(self.vocabulary.self_loop, entity, time, num_edges)]

    def node(self, action: Action) -> Tensor:
        return self.policy.node(self.policy.entity[[action.object]], torch.tensor([self.query_time - action.time]))

    def decide(self, state: PathState, actions: list[Action]) -> tuple[Tensor, Tensor]:
        """Return log π and β of every action."""
        policy = self.policy
        known = torch.cat([state.h, self.e_q, self.r_q], dim=1)
        hidden = torch.relu(policy.W_1(known))
        scores, betas = [], []
        for action in actions:
            e_n, r_n = self.node(action), policy.relation[[action.relation]]
            beta = torch.sigmoid(policy.W_beta(torch.cat([known, e_n, r_n], dim=1))).view(())
            beta = beta if self.config.weighted_scoring else torch.tensor(0.5)
            scores.append(beta * (policy.W_e(hidden) * e_n).sum() + (1 - beta) * (policy.W_r(hidden) * r_n).sum())
            betas.append(beta)
        return torch.log_softmax(torch.stack(scores), dim=0), torch.stack(betas)

    def advance(self, state: PathState, action: Action) -> PathState:
        if self.config.freeze_state_on_self_loop and action.relation == self.vocabulary.self_loop:
            return state
        inputs = torch.cat([self.policy.relation[[action.relation]], self.node(action)], dim=1)
        return PathState(*self.policy.lstm(inputs, state))

    def walks(self) -> list[Walk]:
        """Return every walk that the policy can take."""
        walks = [(Walk(()), self.subject, self.query_time, self.start())]
        for hop in range(self.config.path_length):
            longer = []
            for walk, entity, time, state in walks:
                actions = self.actions(entity, time, first=hop == 0)
                log_pi, beta = self.decide(state, actions)
                for i, action in enumerate(actions):
                    hops = (*walk.hops, Hop(action, log_pi[i].item(), beta[i].item()))
                    longer.append((Walk(hops), action.object, action.time, self.advance(state, action)))
            walks = longer
        return [walk for walk, *_ in walks]


def best_by_hand(walks: list[Walk]) -> dict[int, float]:
    """Return the log probability of the best walk to each entity."""
    best: dict[int, float] = {}
    for walk in walks:
        best[walk.end] = max(best.get(walk.end, -math.inf), walk.log_probability)
    return best
