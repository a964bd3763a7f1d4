"""The kinds of paths of several hops from a subject to answers, and the weight of a path of each kind."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.path_plans import (
    NUM_KNOTS,
    FirstHops,
    Knots,
    ThreeHopsSamePlan,
    TwoHopsPlan,
    TwoHopsSamePlan,
    positions,
)
from titer.models.path_mixture.query_batch import Hop
from titer.models.path_mixture.relation_embedding import RelationEmbedding

MAX_LOG_WEIGHT = 20.0


@dataclass(frozen=True)
class Paths:
    """Paths of one kind, for all queries of a batch."""

    row: Tensor  # (paths,) the query
    hops: tuple[Hop, ...]
    weight: Tensor  # (paths,) positive

    @property
    def answer(self) -> Tensor:
        """The entity at which each path ends. (paths,)"""
        return self.hops[-1].object


def of_age(heights: Tensor, knots: Knots) -> Tensor:
    """Evaluate functions of log Δt that are linear between knots.

    Args:
        heights: The values of each function at the knots. Shape ``(functions, NUM_KNOTS)``.
        knots: Which function to evaluate where.

    Returns:
        The shape of ``knots.share``.
    """
    flat, index = heights.reshape(-1), knots.index.reshape(-1)
    left, right = flat.index_select(0, index).view_as(knots.share), flat.index_select(0, index + 1).view_as(knots.share)
    return torch.lerp(left, right, knots.share)


def total_weight(weight: Tensor, slots: Tensor, num_reached: int) -> Tensor:
    """Return the total weight of the paths to each reached answer; the slot 0 is of paths that do not count."""
    return torch.zeros(num_reached + 1, device=weight.device).index_add(0, slots, weight)[1:]


class TwoHops(nn.Module):
    r"""Paths s → e → o over the latest edges of the subject and of its neighbours, of any relations.

    .. math::
        \log w = \langle u_r, v_{r_1}, x_{r_2} \rangle + f_{r, r_1}(\Delta t_1) + f_{r_2}(\Delta t_2) + \text{biases}
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limits = config.first_edges, config.second_edges
        self.query, self.first, self.second = (
            RelationEmbedding(num_relations, config.rank, deviation=0.3) for _ in range(3)
        )
        self.query_bias, self.first_bias = (RelationEmbedding(num_relations, 1) for _ in range(2))
        self.second_bias = RelationEmbedding(num_relations, 1, value=-3.0)
        self.query_age, self.first_age, self.second_age = (
            RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3)
        )

    def forward(self, first: FirstHops, plan: TwoHopsPlan) -> "GroupedPaths":
        """Return all such paths, grouped by their first hop."""
        query, past = first.query, first.past
        # There are few pairs (r, r₁), so what depends on relations alone is a small table.
        table = (self.query(query) * self.first(past)) @ self.second.weight.T
        table = table + (self.query_bias(query) + self.first_bias(past) + self.second_bias.weight.T)
        log_first = of_age(self.query_age(query) + self.first_age(past), first.knots_of_kinds())
        log_second = of_age(self.second_age.weight, plan.knots)
        return GroupedPaths(first, plan, table, log_first, log_second)


@dataclass(frozen=True)
class GroupedPaths:
    """Paths of two hops: every first hop with the latest edges of the entity that it leads to, padded."""

    first: FirstHops
    plan: TwoHopsPlan
    table: Tensor  # (kinds, relations) the part of log w that depends on the relations
    log_first: Tensor  # (first,) the part that depends on the first age
    log_second: Tensor  # (neighbours, edges) the part that depends on the second age

    def total(self, slots: Tensor, num_reached: int) -> Tensor:
        """Return the total weight of the paths to each reached answer, given that of each path. (reached,)"""
        index = (self.first.kind, self.plan.neighbour, self.plan.relation, slots)
        return _GroupedTotal.apply(self.table, self.log_first, self.log_second, *index, num_reached)

    def listed(self, num_entities: int) -> Paths:
        """Return the paths one by one."""
        first, plan = self.first, self.plan
        object = plan.object.index_select(0, plan.neighbour)
        path = positions(((object < num_entities) & (object != first.subject[:, None])).view(-1))
        before = path // object.shape[1]
        edge = plan.neighbour.index_select(0, before) * object.shape[1] + path % object.shape[1]
        second = Hop(*(column.reshape(-1).index_select(0, edge) for column in (plan.relation, plan.object, plan.age)))
        kind = first.kind.index_select(0, before) * self.table.shape[1] + second.relation
        log_weight = self.table.reshape(-1).index_select(0, kind) + self.log_first.index_select(0, before)
        log_weight = log_weight + self.log_second.reshape(-1).index_select(0, edge)
        return Paths(first.row.index_select(0, before), (first.hop[before], second), _weight(log_weight))


class _GroupedTotal(torch.autograd.Function):
    """The sums of the weights of grouped paths, without a list of the paths."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, log_first: Tensor, log_second: Tensor, kind: Tensor, neighbour: Tensor,
        relation: Tensor, slots: Tensor, num_slots: int,
    ) -> Tensor:  # fmt: skip
        index = relation.int().index_select(0, neighbour) + (kind * table.shape[1]).int()[:, None]
        weight = log_second.index_select(0, neighbour)
        weight += table.reshape(-1).index_select(0, index.view(-1)).view(weight.shape)
        weight += log_first[:, None]
        weight.clamp_(max=MAX_LOG_WEIGHT).exp_()
        ctx.save_for_backward(weight, index, neighbour, slots)
        ctx.shapes = table.shape, log_second.shape
        return torch.zeros(num_slots + 1, device=table.device).index_add_(0, slots.view(-1), weight.view(-1))[1:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight, index, neighbour, slots = ctx.saved_tensors
        # Paths that do not count have the slot 0, which has no gradient.
        by_slot = nn.functional.pad(gradients[0], (1, 0))
        gradient = by_slot.index_select(0, slots.view(-1)).view(weight.shape)
        gradient *= weight
        gradient.masked_fill_(weight >= _MAX_WEIGHT, 0.0)
        table = torch.zeros(ctx.shapes[0], device=weight.device)
        table.view(-1).index_add_(0, index.view(-1), gradient.view(-1))
        second = torch.zeros(ctx.shapes[1], device=weight.device).index_add_(0, neighbour, gradient)
        return table, gradient.sum(dim=1), second, None, None, None, None, None


class TwoHopsSame(nn.Module):
    r"""Paths s → e → o whose second fact has the relation of the query: the subject may do what a neighbour did.

    .. math::
        \log w = b_r + u_r \cdot v_{r_1} + f_{r, r_1}(\Delta t_1) + f_r(\Delta t_2) + \kappa \log n_2
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limits = config.first_edges, config.same_edges
        self.bias = RelationEmbedding(num_relations, 1, value=-3.0)
        self.query, self.first = (RelationEmbedding(num_relations, config.rank, deviation=0.3) for _ in range(2))
        self.query_age, self.first_age, self.second_age = (
            RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3)
        )
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, first: FirstHops, plan: TwoHopsSamePlan) -> Tensor:
        """Return the weights of all such paths. (paths,)"""
        query, past = first.query, first.past
        of_kind = self.bias(query)[:, 0] + (self.query(query) * self.first(past)).sum(dim=1)
        log_first = of_age(self.query_age(query) + self.first_age(past), first.knots_of_kinds())
        log_first = log_first + of_kind.index_select(0, first.kind)
        log_second = of_age(self.second_age.weight, plan.knots) + self.number * plan.log_number
        return _weight(log_first.index_select(0, plan.before) + log_second.index_select(0, plan.after))

    @staticmethod
    def listed(plan: TwoHopsSamePlan, weight: Tensor) -> Paths:
        """Return the paths one by one."""
        row = plan.first.row.index_select(0, plan.before)
        return Paths(row, (plan.first.hop[plan.before], plan.hop[plan.after]), weight)


class ThreeHopsSame(nn.Module):
    r"""Paths s → e ← s' → o, all of the query's relation: the subject may do what those did who acted like it.

    .. math::
        \log w = b_r + f_r(\Delta t_1) + f'_r(\Delta t_2) + f''_r(\Delta t_3) + \kappa \log n_3
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limit = config.same_edges
        self.bias = RelationEmbedding(num_relations, 1, value=-4.0)
        self.ages = nn.ModuleList(RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3))
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, plan: ThreeHopsSamePlan) -> Tensor:
        """Return the weights of all such paths. (paths,)"""
        log_weight = self.bias(plan.relation)[:, 0] + self._of_age(0, plan.first)
        log_weight = log_weight.index_select(0, plan.second_before) + self._of_age(1, plan.second)
        log_weight = log_weight.index_select(0, plan.third_before) + self._of_age(2, plan.third)
        return _weight(log_weight + self.number * plan.log_number)

    def _of_age(self, hop: int, knots: Knots) -> Tensor:
        heights = self.ages[hop].weight
        assert isinstance(heights, Tensor)
        return of_age(heights, knots)

    @staticmethod
    def listed(plan: ThreeHopsSamePlan, weight: Tensor) -> Paths:
        """Return the paths one by one."""
        first, second, third = plan.hops
        first = first[plan.second_before.index_select(0, plan.third_before)]
        return Paths(plan.rows[2], (first, second[plan.third_before], third), weight)


_MAX_WEIGHT = float(torch.exp(torch.tensor(MAX_LOG_WEIGHT)))


def _weight(log_weight: Tensor) -> Tensor:
    return torch.exp(log_weight.clamp(max=MAX_LOG_WEIGHT))
