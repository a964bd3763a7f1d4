"""Sampled walks for training: plain operations on any device, or fused kernels on a GPU."""

from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.kernels import triton_is_installed
from titer.models.titer.decide import Decision, decide, gumbel_noise
from titer.models.titer.policy import Policy
from titer.models.titer.search import MAX_LAGS
from titer.models.titer.walk import Node, candidate_actions

MAX_FUSED_ACTIONS = 128
"""Maximum number of actions for the kernels, which hold all actions of a walk at once."""


class Walks(NamedTuple):
    """A sampled walk for every query."""

    end: Node
    log_probability: Tensor  # (walks, L) log π(a_l | s_l)
    entropy: Tensor  # (walks, L) of π


def roll_out(policy: Policy, queries: Queries, history: History) -> Walks:
    """Sample a walk for every query.

    Uses fused kernels where they apply, and ``reference_roll_out`` otherwise.

    Args:
        policy: The policy to follow. Its settings say which actions there are.
        queries: The queries, one for each walk.
        history: The known facts.

    Returns:
        The ends of the walks, and for every hop its log probability and the entropy of the policy, differentiable in
        the weights of the policy.
    """
    if not is_fused(policy, history):
        return reference_roll_out(policy, queries, history)
    from titer.models.titer.fused_roll_out import draw, fused_roll_out

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


def reference_roll_out(policy: Policy, queries: Queries, history: History) -> Walks:
    """Sample a walk for every query by plain operations."""
    config, query_time, table = policy.config, queries.time, policy.entity
    self_loop = history.vocabulary.self_loop
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
        decision = decide(
            policy.candidates(actions, rows, query_time, num_lags),
            policy.scoring(state, context, table, encoding),
            gumbel_noise(actions.mask),
            weighted=config.weighted_scoring,
        )
        decisions.append(decision)
        node = Node.reached(actions, decision.choice)
    log_probability = torch.stack([decision.log_probability for decision in decisions], dim=1)
    return Walks(node, log_probability, torch.stack([decision.entropy for decision in decisions], dim=1))
