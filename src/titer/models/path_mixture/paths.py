"""The kinds of paths of several hops from a subject to answers, and the weight of a path of each kind."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from titer.graph.ragged import spread
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.query_batch import Distinct, Hop, QueryBatch
from titer.models.path_mixture.reached import Ends
from titer.models.path_mixture.relation_embedding import RelationEmbedding

NUM_KNOTS = 12
KNOTS_PER_DOUBLING = 1.2
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

    @property
    def ends(self) -> Ends:
        """The query and the answer of each path."""
        return Ends(self.row, self.answer)

    def listed(self, num_entities: int) -> "Paths":
        """Return the paths one by one, as they are."""
        return self

    def total(self, slots: Tensor, num_reached: int) -> Tensor:
        """Return the total weight of the paths to each reached answer, given that of each path. (reached,)"""
        return torch.zeros(num_reached, device=self.weight.device).index_add(0, slots, self.weight)


def of_age(heights: Tensor, row: Tensor, age: Tensor) -> Tensor:
    """Evaluate functions of log Δt that are linear between knots.

    Args:
        heights: The values of each function at the knots. Shape ``(functions, NUM_KNOTS)``.
        row: The function to evaluate. Shape ``(paths,)``.
        age: Δt. Shape ``(paths,)``.

    Returns:
        Shape ``(paths,)``.
    """
    place = torch.log2(age.clamp(min=1).float()) * KNOTS_PER_DOUBLING
    left = place.floor().clamp(max=NUM_KNOTS - 2)
    share = (place - left).clamp(max=1)
    index, flat = row * NUM_KNOTS + left.long(), heights.reshape(-1)
    return flat.index_select(0, index) * (1 - share) + flat.index_select(0, index + 1) * share


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

    def forward(self, batch: QueryBatch) -> "GroupedPaths":
        """Return all such paths, grouped by their first hop."""
        row, first = batch.first_hops(self.limits[0])
        relation = batch.relation.index_select(0, row)
        kinds = Distinct.of(relation * self.query.num_embeddings + first.relation)
        query, past = kinds.values // self.query.num_embeddings, kinds.values % self.query.num_embeddings
        # There are few pairs (r, r₁), so what depends on relations alone is a small table.
        table = (self.query(query) * self.first(past)) @ self.second.weight.T
        table = table + (self.query_bias(query) + self.first_bias(past) + self.second_bias.weight.T)
        log_first = of_age(self.query_age(query) + self.first_age(past), kinds.place, first.age)

        neighbours, edges = batch.neighbours(*self.limits)
        relation = torch.where(edges.mask, edges.relation, 0)
        age = (batch.time - edges.time).reshape(-1)
        log_second = of_age(self.second_age.weight, relation.view(-1), age).view(relation.shape)
        return GroupedPaths(
            row, batch.subject.index_select(0, row), first, kinds.place, neighbours.place, relation, edges.object,
            batch.time - edges.time, table, log_first, log_second,
        )  # fmt: skip


@dataclass(frozen=True)
class GroupedPaths:
    """Paths of two hops: every first hop with the latest edges of the entity that it leads to, padded."""

    row: Tensor  # (first,) the query
    subject: Tensor  # (first,)
    first: Hop
    kind: Tensor  # (first,) row of the table
    neighbour: Tensor  # (first,) the group of second hops
    relation: Tensor  # (neighbours, edges) of the second hop
    object: Tensor  # (neighbours, edges) the answer; the padding entity where there is no edge
    age: Tensor  # (neighbours, edges)
    table: Tensor  # (kinds, relations) the part of log w that depends on the relations
    log_first: Tensor  # (first,) the part that depends on the first age
    log_second: Tensor  # (neighbours, edges) the part that depends on the second age

    @property
    def ends(self) -> Ends:
        """The query and the answer of each path; paths that return to the subject do not count."""
        return Ends(self.row, self.object, group=self.neighbour, except_for=self.subject)

    def total(self, slots: Tensor, num_reached: int) -> Tensor:
        """Return the total weight of the paths to each reached answer, given that of each path. (reached,)"""
        index = (self.kind, self.neighbour, self.relation, slots)
        return _GroupedTotal.apply(self.table, self.log_first, self.log_second, *index, num_reached)  # type: ignore

    def listed(self, num_entities: int) -> Paths:
        """Return the paths one by one."""
        object = self.object.index_select(0, self.neighbour)
        path = ((object < num_entities) & (object != self.subject[:, None])).view(-1).nonzero()[:, 0]
        before = path // object.shape[1]
        edge = self.neighbour.index_select(0, before) * object.shape[1] + path % object.shape[1]
        second = Hop(*(column.reshape(-1).index_select(0, edge) for column in (self.relation, self.object, self.age)))
        kind = self.kind.index_select(0, before) * self.table.shape[1] + second.relation
        log_weight = self.table.reshape(-1).index_select(0, kind) + self.log_first.index_select(0, before)
        log_weight = log_weight + self.log_second.reshape(-1).index_select(0, edge)
        return Paths(self.row.index_select(0, before), (self.first[before], second), _weight(log_weight))


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
        return torch.zeros(num_slots + 1, device=table.device).index_add_(0, slots.view(-1), weight.view(-1))[:-1]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight, index, neighbour, slots = ctx.saved_tensors
        # Paths that do not count have the slot after the last, which has no gradient.
        by_slot = nn.functional.pad(gradients[0], (0, 1))
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

    def forward(self, batch: QueryBatch) -> Paths:
        """Return all such paths."""
        row, first = batch.first_hops(self.limits[0])
        relation = batch.relation.index_select(0, row)
        # Several first hops share their neighbour and the relation of their query, and so their second hops.
        num_relations = self.bias.num_embeddings
        goals = Distinct.of(first.object * num_relations + relation)
        found, second, number = batch.answer_hops(
            goals.values // num_relations, goals.values % num_relations, self.limits[1]
        )
        group = torch.arange(len(goals.values), device=found.device)
        start, end = torch.searchsorted(found, group), torch.searchsorted(found, group, right=True)
        before, hop = spread(start.index_select(0, goals.place), end.index_select(0, goals.place))
        onward = second.object.index_select(0, hop) != batch.subject.index_select(0, row).index_select(0, before)
        onward = _positions(onward)
        before, hop = before.index_select(0, onward), hop.index_select(0, onward)

        kinds = Distinct.of(relation * num_relations + first.relation)
        query, past = kinds.values // num_relations, kinds.values % num_relations
        of_kind = self.bias(query)[:, 0] + (self.query(query) * self.first(past)).sum(dim=1)
        log_first = of_kind.index_select(0, kinds.place)
        log_first = log_first + of_age(self.query_age(query) + self.first_age(past), kinds.place, first.age)
        log_second = of_age(self.second_age.weight, second.relation, second.age) + self.number * torch.log(number)
        log_weight = log_first.index_select(0, before) + log_second.index_select(0, hop)
        return Paths(row.index_select(0, before), (first[before], second[hop]), _weight(log_weight))


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

    def forward(self, batch: QueryBatch) -> Paths:
        """Return all such paths."""
        inverse = batch.history.vocabulary.inverse
        row, first, _ = batch.answer_hops(batch.subject, batch.relation, self.limit)
        relation = batch.relation.index_select(0, row)
        log_weight = self.bias(relation)[:, 0] + self._of_age(0, relation, first.age)

        before, second, _ = batch.answer_hops(first.object, inverse(relation), self.limit)
        others = _positions(second.object != batch.subject.index_select(0, row).index_select(0, before))
        before, second = before.index_select(0, others), second[others]
        row, first = row.index_select(0, before), first[before]
        relation = batch.relation.index_select(0, row)
        log_weight = log_weight.index_select(0, before) + self._of_age(1, relation, second.age)

        before, third, number = batch.answer_hops(second.object, relation, self.limit)
        onward = _positions(third.object != first.object.index_select(0, before))
        before, third, number = before.index_select(0, onward), third[onward], number.index_select(0, onward)
        log_weight = log_weight.index_select(0, before) + self._of_age(2, third.relation, third.age)
        log_weight = log_weight + self.number * torch.log(number)
        return Paths(row.index_select(0, before), (first[before], second[before], third), _weight(log_weight))

    def _of_age(self, hop: int, relation: Tensor, age: Tensor) -> Tensor:
        heights = self.ages[hop].weight
        assert isinstance(heights, Tensor)
        return of_age(heights, relation, age)


_MAX_WEIGHT = float(torch.exp(torch.tensor(MAX_LOG_WEIGHT)))


def _positions(mask: Tensor) -> Tensor:
    """Return the positions of the true values; indexing several tensors with a mask would search it each time."""
    return mask.nonzero()[:, 0]


def _weight(log_weight: Tensor) -> Tensor:
    return torch.exp(log_weight.clamp(max=MAX_LOG_WEIGHT))
