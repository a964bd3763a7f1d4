"""Sampled walks for training: plain operations on any device, or fused kernels on a GPU."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.kernels import triton_is_installed
from titer.models.titer.decide import Decision, decide, gumbel_noise
from titer.models.titer.policy import PathState, Policy, QueryContext
from titer.models.titer.search import MAX_LAGS
from titer.models.titer.walk import Actions, Node, candidate_actions

MAX_FUSED_ACTIONS = 128
"""Maximum number of actions for the kernels, which hold all actions of a walk at once."""


class Walks(NamedTuple):
    """Sampled walks."""

    end: Node
    log_probability: Tensor  # (walks, L) log π(a_l | s_l)
    entropy: Tensor  # (walks, L) of π


def roll_out(policy: Policy, queries: Queries, history: History, num_walks: int = 1) -> Walks:
    """Sample walks for every query.

    Uses fused kernels where they apply, and ``reference_roll_out`` otherwise.

    Args:
        policy: The policy to follow. Its settings say which actions there are.
        queries: The queries.
        history: The known facts.
        num_walks: Number of walks for each query.

    Returns:
        The ends of the walks, those of a query one after the other, and for every hop its log probability and the
        entropy of the policy, differentiable in the weights of the policy.
    """
    if not is_fused(policy, history):
        return reference_roll_out(policy, queries, history, num_walks)
    from titer.models.titer.fused_roll_out import draw, fused_roll_out

    queries = queries.repeated(num_walks)
    return fused_roll_out(policy, queries, history, draw(policy, queries))


def is_fused(policy: Policy, history: History) -> bool:
    """Return whether the fused kernels apply."""
    config = policy.config
    return (
        policy.entity.is_cuda
        and policy.entity.dtype == torch.float32
        and config.relative_time
        and config.num_edges < MAX_FUSED_ACTIONS
        and history.num_steps <= MAX_LAGS
        and triton_is_installed()
    )


def reference_roll_out(policy: Policy, queries: Queries, history: History, num_walks: int = 1) -> Walks:
    """Sample walks for every query by plain operations."""
    config, table = policy.config, policy.entity
    if policy.training and config.dropout:
        queries, num_walks = queries.repeated(num_walks), 1  # each walk has its own dropout from the first hop on
    self_loop, query_time = history.vocabulary.self_loop, queries.time
    context = policy.query_context(table.index_select(0, queries.subject), queries.relation)
    state = policy.begin(context)
    node = Node(torch.full_like(queries.subject, policy.start), queries.subject, query_time)
    num_lags = min(history.num_steps, MAX_LAGS)
    encoding = policy.encodings(num_lags)
    decisions: list[Decision] = []
    for hop in range(config.path_length):
        if hop:
            static = table.index_select(0, node.entity)
            state = policy.advance(state, node.relation, static, query_time - node.time, node.relation == self_loop)
        actions = candidate_actions(history, node.entity, node.time, query_time, config, first=hop == 0)
        rows = actions.object.clamp(max=len(table) - 1)
        candidates = policy.candidates(actions, rows, query_time, num_lags)
        scoring = policy.scoring(state, context, table, encoding)
        if hop == 0 and num_walks > 1:
            # The walks of a query have the same first state and actions, which are therefore computed once per query.
            actions, state = Actions(*_repeated(actions, num_walks)), PathState(*_repeated(state, num_walks))
            context = QueryContext(*_repeated(context, num_walks))
            query_time = query_time.repeat_interleave(num_walks)
        decision = decide(candidates, scoring, gumbel_noise(actions.mask), weighted=config.weighted_scoring)
        decisions.append(decision)
        node = Node.reached(actions, decision.choice)
    log_probability = torch.stack([decision.log_probability for decision in decisions], dim=1)
    return Walks(node, log_probability, torch.stack([decision.entropy for decision in decisions], dim=1))


def _repeated(parts: Iterable[Tensor], times: int) -> Iterator[Tensor]:
    return (part.repeat_interleave(times, dim=0) for part in parts)
