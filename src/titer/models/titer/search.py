"""Beam search at test time (appendix A.3 of the paper)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.titer.decide import score_actions
from titer.models.titer.policy import PathState, Policy
from titer.models.titer.representation import Representation
from titer.models.titer.walk import Actions, Node, candidate_actions

MAX_LAGS = 1 << 16
"""A fact that is longer ago than this many steps is taken to be this many steps ago, to bound memory."""


class Expansion(NamedTuple):
    """One step of the search: every candidate action of every path that was kept, and the log probability there."""

    actions: Actions  # (questions * paths, actions)
    log_probability: Tensor  # (questions, paths, actions) of the whole path
    step_probability: Tensor  # (questions, paths, actions) of the last step alone
    beta: Tensor  # (questions, paths, actions)
    parent: Tensor  # (questions, paths) flat place of each path's last action in the expansion before


def beam_search(policy: Policy, queries: Queries, history: History, representation: Representation) -> list[Expansion]:
    """Follow the best paths of every question. The last expansion has all their ends."""
    config = policy.config
    count = len(queries)
    table = representation.table
    asked = queries.time
    question = policy.question(table.index_select(0, representation.rows(queries.subject)), queries.relation)
    state = policy.begin(question)
    node = Node(torch.full_like(queries.subject, policy.start), queries.subject, asked)
    owner = torch.arange(count, device=asked.device)  # which question a path belongs to
    reached = torch.zeros(count, 1, device=asked.device)  # (questions, paths) log probability
    parent = torch.zeros(count, 1, dtype=torch.int64, device=asked.device)
    num_lags = min(max(int(asked.max()) - history.first_time, 0) + 1, MAX_LAGS) if count else 1
    encoding = policy.encodings(num_lags)
    encoder = _ProjectedEncoder(policy, table, encoding)
    steps: list[Expansion] = []
    for step in range(config.path_length):
        paths = reached.shape[1]
        actions = candidate_actions(history, node.entity, node.time, asked[owner], config, first=step == 0)
        rows = representation.rows(actions.object.clamp(max=history.vocabulary.num_entities - 1), owner)
        scores = score_actions(
            policy.candidates(actions, rows, asked[owner], num_lags),
            policy.scoring(state, question.of(owner), table, encoding),
            weighted=config.weighted_scoring,
        )
        step_log = torch.log_softmax(scores.phi, dim=1).view(count, paths, -1)
        total = reached[:, :, None] + step_log
        steps.append(Expansion(actions, total, step_log.exp(), scores.beta.view_as(step_log), parent))
        if step == config.path_length - 1:
            break
        reached, parent = _keep_best(total.flatten(1), config.beam_size)
        kept = reached.shape[1]
        num_actions = total.shape[2]
        # The place of a kept action among all actions of all paths of all questions.
        walk = (owner[::paths, None] * paths + parent // num_actions).flatten()
        choice = (parent % num_actions).flatten()
        node = Node(*(column[walk, choice] for column in actions[:3]))
        owner = torch.arange(count, device=asked.device).repeat_interleave(kept)
        row = representation.rows(node.entity.clamp(max=history.vocabulary.num_entities - 1), owner)
        stays = node.relation == history.vocabulary.self_loop
        state = encoder.advance(state, walk, node.relation, row, asked[owner] - node.time, stays)
    return steps


class _ProjectedEncoder:
    """The path encoder for many paths at once.

    All that can enter a step (relations, entities, time lags) is multiplied by the input weights beforehand, and a
    state by the recurrent weights once for all paths that go on from it; a step then only picks and adds.
    """

    def __init__(self, policy: Policy, table: Tensor, encoding: Tensor):
        self.policy = policy
        config, lstm = policy.config, policy.lstm
        self.relation = policy.relation @ lstm.weight_ih[:, : config.relation_dim].T + lstm.bias_ih + lstm.bias_hh
        of_node = lstm.weight_ih[:, config.relation_dim :]
        self.static = table @ of_node[:, : policy.static_dim].T
        self.lag = encoding @ of_node[:, policy.static_dim :].T if config.relative_time else None

    def advance(
        self, state: PathState, walk: Tensor, relation: Tensor, row: Tensor, elapsed: Tensor, stays: Tensor
    ) -> PathState:
        """The same as ``Policy.advance``, from the state of the walk that each path goes on from."""
        gates = (state.h @ self.policy.lstm.weight_hh.T).index_select(0, walk)
        gates += self.relation.index_select(0, relation)
        gates += self.static.index_select(0, row)
        if self.lag is not None:
            gates += self.lag.index_select(0, elapsed.clamp(0, len(self.lag) - 1))
        before = PathState(state.h.index_select(0, walk), state.c.index_select(0, walk))
        size = gates.shape[1] // 4
        cell = torch.tanh(gates[:, 2 * size : 3 * size].contiguous())
        enter, forget, _, leave = gates.sigmoid_().chunk(4, dim=1)
        c = forget * before.c + enter * cell
        return self.policy.after(before, PathState(leave * torch.tanh(c), c), stays)


def _keep_best(total: Tensor, beam_size: int) -> tuple[Tensor, Tensor]:
    """The best paths of every question and their places; all of them where that is not too many."""
    if total.shape[1] <= beam_size:
        return total, torch.arange(total.shape[1], device=total.device).expand_as(total)
    best = total.topk(beam_size, dim=1, sorted=False)
    return best.values, best.indices


def best_per_entity(last: Expansion, num_entities: int) -> Tensor:
    """The log probability of the best path that ends at each entity; -inf where none does. (questions, num_entities)"""
    count = len(last.log_probability)
    ends = last.actions.object.view(count, -1)
    scores = torch.full((count, num_entities + 1), -math.inf, device=ends.device)  # one more for the padding entity
    scores.scatter_reduce_(1, ends, last.log_probability.reshape(count, -1), reduce="amax")
    return scores[:, :num_entities]
