"""Beam search for the most probable paths (appendix A.3 of the paper)."""

from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED
from titer.models.titer.decide import score_actions
from titer.models.titer.policy import PathState, Policy
from titer.models.titer.representation import Representation
from titer.models.titer.walk import Actions, Node, candidate_actions

MAX_LAGS = 1 << 16
"""Number of time lags with an encoding of their own; longer lags use the last one, to bound memory."""


class BeamExpansion(NamedTuple):
    """One hop of the search: all candidate actions of the paths in the beam, and their probabilities."""

    actions: Actions  # (queries * paths, actions)
    log_probability: Tensor  # (queries, paths, actions) of the whole path
    hop_probability: Tensor  # (queries, paths, actions) of the last hop alone
    beta: Tensor  # (queries, paths, actions)
    parent: Tensor  # (queries, paths) flat index of each path's last action in the previous expansion


def beam_search(
    policy: Policy, queries: Queries, history: History, representation: Representation
) -> list[BeamExpansion]:
    """Search the most probable paths of every query.

    Args:
        policy: The policy that scores actions.
        queries: The queries.
        history: The known facts.
        representation: The representations of entities for these queries.

    Returns:
        One expansion per hop. The last one has the ends of all paths.
    """
    config = policy.config
    count = len(queries)
    table = representation.table
    query_time = queries.time
    context = policy.query_context(table.index_select(0, representation.rows(queries.subject)), queries.relation)
    state = policy.begin(context)
    node = Node(torch.full_like(queries.subject, policy.start), queries.subject, query_time)
    owner = torch.arange(count, device=query_time.device)  # the query that each path belongs to
    reached = torch.zeros(count, 1, device=query_time.device)  # (queries, paths) log probability
    parent = torch.zeros(count, 1, dtype=torch.int64, device=query_time.device)
    num_lags = min(max(int(query_time.max()) - history.first_time, 0) + 1, MAX_LAGS) if count else 1
    encoding = policy.encodings(num_lags)
    encoder = _ProjectedEncoder(policy, table, encoding)
    expansions: list[BeamExpansion] = []
    for hop in range(config.path_length):
        paths = reached.shape[1]
        actions = candidate_actions(history, node.entity, node.time, query_time[owner], config, first=hop == 0)
        rows = representation.rows(actions.object.clamp(max=history.vocabulary.num_entities - 1), owner)
        scores = score_actions(
            policy.candidates(actions, rows, query_time[owner], num_lags),
            policy.scoring(state, context.of(owner), table, encoding),
            weighted=config.weighted_scoring,
        )
        hop_log = torch.log_softmax(scores.phi, dim=1).view(count, paths, -1)
        total = reached[:, :, None] + hop_log
        is_last = hop == config.path_length - 1
        if is_last and config.final_beam:
            total = _only_best(total, config.beam_size)
        expansions.append(BeamExpansion(actions, total, hop_log.exp(), scores.beta.view_as(hop_log), parent))
        if is_last:
            break
        reached, parent = _keep_best(total.flatten(1), config.beam_size)
        kept = reached.shape[1]
        num_actions = total.shape[2]
        # The row of each kept action among the paths of all queries, and its column.
        walk = (owner[::paths, None] * paths + parent // num_actions).flatten()
        choice = (parent % num_actions).flatten()
        node = Node(*(column[walk, choice] for column in actions[:3]))
        owner = torch.arange(count, device=query_time.device).repeat_interleave(kept)
        row = representation.rows(node.entity.clamp(max=history.vocabulary.num_entities - 1), owner)
        stays = node.relation == history.vocabulary.self_loop
        state = encoder.advance(state, walk, node.relation, row, query_time[owner] - node.time, stays)
    return expansions


class _ProjectedEncoder:
    """The path encoder, optimised for many paths.

    All possible inputs (relations, entities, time lags) are multiplied by the input weights once, and each state by the
    recurrent weights once for all paths that continue from it. A hop then only selects rows and adds them.
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
        """Return the same as ``Policy.advance``, where path i continues from row ``walk[i]`` of ``state``."""
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
    """Return the log probabilities of the best paths of every query, and their indices."""
    if total.shape[1] <= beam_size:
        return total, torch.arange(total.shape[1], device=total.device).expand_as(total)
    best = total.topk(beam_size, dim=1, sorted=False)
    return best.values, best.indices


def _only_best(total: Tensor, beam_size: int) -> Tensor:
    """Return the same log probabilities, but -inf for all except the best paths of every query."""
    reached, kept = _keep_best(total.flatten(1), beam_size)
    return torch.full_like(total, UNREACHED).flatten(1).scatter(1, kept, reached).view_as(total)


def best_per_entity(last: BeamExpansion, num_entities: int) -> Tensor:
    """Return the log probability of the best path to each entity, -inf without one. (queries, num_entities)"""
    count = len(last.log_probability)
    ends = last.actions.object.view(count, -1)
    # The last column is for the padding entity.
    scores = torch.full((count, num_entities + 1), UNREACHED, device=ends.device)
    scores.scatter_reduce_(1, ends, last.log_probability.reshape(count, -1), reduce="amax")
    return scores[:, :num_entities]
