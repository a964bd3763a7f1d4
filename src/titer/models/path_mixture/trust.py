"""The factor of the paths to an answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from titer.graph.count_features import NUM_FEATURES, no_features
from titer.kernels import triton_is_installed
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.dropout import Dropout, effective_rate, random_mask
from titer.models.path_mixture.prior_plans import QueryPlan
from titer.models.path_mixture.reach import ReachPlan
from titer.models.path_mixture.relation_embedding import RelationEmbedding

NUM_KINDS = 4
CHUNK = 4096
"""Reached answers that are processed together on a CPU."""
SMALL = 1e-3
"""Added to a sum of weights before its logarithm is used as a feature."""


@dataclass(frozen=True)
class PairInputs:
    """What the trust network reads of each reached answer, apart from past facts between subject and answer."""

    kinds: list[Tensor]  # the total weight of each kind of path, (reached,) each
    prior: Tensor  # (reached,) π
    frequency: Tensor  # (reached,) the term of π that does not depend on the subject
    activity: Tensor  # (reached,) a feature of the answer's past facts


class Trust(nn.Module):
    """φ: a learned factor for the paths to an answer, computed from all past facts of the pair (s, o).

    All paths to an answer share one factor, so the share of each path in their sum does not depend on it.

    The first layer is linear in the concatenation of all inputs. It is computed as a sum: one term for each query, one
    for each pair (s, o) that has past facts, which all queries with the subject share, and one for each reached answer.
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.dim = config.relation_dim
        self.query = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.past = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.gate = nn.Linear(NUM_FEATURES, config.relation_dim)
        self.prior_share = nn.Parameter(torch.zeros(()))
        # The inputs, in this order: facts of the query's relation (weight, features), of all relations (features,
        # relations), kinds of paths, the subject's activity, prior, frequency and activity, the query's relation.
        self.sizes = (1 + NUM_FEATURES, NUM_FEATURES, self.dim, NUM_KINDS, NUM_FEATURES, 3, self.dim)
        self.network = nn.Sequential(
            nn.Linear(sum(self.sizes), 2 * config.hidden_dim),
            nn.ReLU(),
            Dropout(config.dropout / 2),
            nn.Linear(2 * config.hidden_dim, config.hidden_dim),
            nn.ReLU(),
            nn.Linear(config.hidden_dim, 1),
        )

    def forward(self, query: QueryPlan, plan: ReachPlan, inputs: PairInputs, fact_weight: Tensor) -> Tensor:
        """Return φ of the reached answers.

        Args:
            query: The queries.
            plan: The reached answers; all pairs with past facts are among them.
            inputs: What is known about each of them.
            fact_weight: The weight of each series of each query. Shape ``(query series,)``.

        Returns:
            Shape ``(reached,)``.
        """
        facts = plan.facts
        first, second, third = self.network[0], self.network[3], self.network[5]
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        assert isinstance(third, nn.Linear)
        dropout = self.network[2]
        assert isinstance(dropout, Dropout)
        same, all_facts, relations, kinds, subject, values, relation = first.weight.split(self.sizes, dim=1)

        nothing = no_features(fact_weight.device)
        no_weight = _log(nothing.new_zeros(1))
        constant = same @ torch.cat([no_weight, nothing]) + all_facts @ nothing + first.bias
        of_query = constant + query.activity @ subject.T + self.query(query.relation) @ relation.T

        gated = self.past(facts.relation) * self.gate(facts.features)
        gated = torch.zeros(len(facts.pair_features), self.dim, device=gated.device).index_add(0, facts.pair, gated)
        of_facts = facts.pair_features @ all_facts.T + (gated / 3) @ relations.T

        # At most one series of a query's pair has the relation of the query.
        same_weight = _log(fact_weight.index_select(0, facts.same)) - no_weight
        of_same = torch.cat([same_weight[:, None], facts.same_features], dim=1) @ same.T

        columns = [_log(total) for total in inputs.kinds]
        # Kinds of paths that are switched off have no weight.
        columns += [no_weight.expand(len(plan.row))] * (NUM_KINDS - len(columns))
        columns += [inputs.prior / 5, inputs.frequency / 5, inputs.activity]
        of_pair = torch.stack(columns)  # (7, reached): thin matrices are multiplied faster this way
        weight = torch.cat([kinds, values], dim=1)

        rate = dropout.rate if self.training else 0.0
        kept = torch.is_grad_enabled()
        shared = _Shared(plan.row, plan.length, facts.query_pair, plan.pair_at, plan.same_at, rate, kept)
        terms = (of_query, of_facts, of_same, of_pair, weight)
        output = _Network.apply(*terms, second.weight, second.bias, third.weight[0], shared)  # type: ignore
        return output + third.bias + self.prior_share * inputs.prior  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Shared:
    """Which terms of the first layer belong to a reached answer; the slots ascend, like the reached answers."""

    row: Tensor  # (reached,) the query
    length: Tensor  # (queries,) number of reached answers
    pair: Tensor  # (query pairs,)
    fact_slots: Tensor  # (query pairs,) the reached answer of each
    same_slots: Tensor  # (series of the query's relation,) the reached answer of each
    dropout: float
    is_kept: bool  # whether hidden layers are kept for a gradient

    def hidden(self, like: Tensor, dim: int) -> Tensor:
        """Allocate a hidden layer: of all reached answers for a gradient, otherwise of one piece. (answers, dim)"""
        return like.new_empty(len(self.row) if self.is_kept else min(len(self.row), self.piece), dim)

    @property
    def piece(self) -> int:
        """Number of reached answers that are processed together."""
        return CHUNK if self.row.device.type == "cpu" else max(len(self.row), 1)

    def chunks(self) -> Iterator[tuple[slice, slice, slice]]:
        """Yield ranges of reached answers, and the ranges of pairs and series that belong to them."""
        size = self.piece
        starts = torch.arange(0, len(self.row) + size, size, dtype=self.fact_slots.dtype)
        if len(starts) <= 2:
            yield slice(None), slice(None), slice(None)
            return
        bounds = [torch.searchsorted(slots, starts).tolist() for slots in (self.fact_slots, self.same_slots)]
        for number, start in enumerate(starts[:-1].tolist()):
            pairs, series = (slice(bound[number], bound[number + 1]) for bound in bounds)
            yield slice(start, start + size), pairs, series

    def add_by_query(self, total: Tensor, rows: slice, values: Tensor) -> None:
        """Add the values of some reached answers to the totals of their queries. (queries, dim)"""
        if not values.is_cuda or not triton_is_installed():
            total.index_add_(0, self.row[rows], values)
            return
        from titer.models.path_mixture import bags_triton

        # Those of a query follow each other. Adding them one by one, hundreds would wait for the same memory.
        start = torch.cumsum(self.length, 0, dtype=self.length.dtype) - self.length
        total += bags_triton.segment_sums(values, start, self.length)


class _Network(torch.autograd.Function):
    """The network with its first layer as a sum of terms, computed in pieces that fit into the cache of a CPU.

    Dropped units are zero like those that ReLU turns off, so their gradient needs no mask of its own.
    """

    @staticmethod
    def forward(
        ctx: Any, of_query: Tensor, of_facts: Tensor, of_same: Tensor, of_pair: Tensor, weight: Tensor,
        second: Tensor, bias: Tensor, third: Tensor, shared: _Shared,
    ) -> Tensor:  # fmt: skip
        scale = 1 / (1 - effective_rate(shared.dropout, weight.device))
        second = second * scale
        first, hidden = shared.hidden(of_query, len(weight)), shared.hidden(of_query, len(second))
        output = of_query.new_empty(len(shared.row))
        for rows, pairs, series in shared.chunks():
            query = shared.row[rows]
            place = rows if shared.is_kept else slice(len(query))
            layer, next_layer = first[place], hidden[place]
            torch.index_select(of_query, 0, query, out=layer)
            layer.addmm_(of_pair[:, rows].T, weight.T)
            start = rows.start or 0
            layer.index_add_(0, shared.fact_slots[pairs] - start, of_facts.index_select(0, shared.pair[pairs]))
            layer.index_add_(0, shared.same_slots[series] - start, of_same[series])
            layer.relu_()
            if shared.dropout:
                layer *= random_mask(layer, shared.dropout)
            torch.addmm(bias, layer, second.T, out=next_layer)
            torch.mv(next_layer.relu_(), third, out=output[rows])
        ctx.save_for_backward(of_pair, weight, second, third, first, hidden)
        ctx.shared, ctx.scale, ctx.sizes = shared, scale, (of_query.shape, of_facts.shape, of_same.shape)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_pair, weight, second, third, first, hidden = ctx.saved_tensors
        shared: _Shared = ctx.shared
        gradient = gradients[0].contiguous()
        to_query, to_facts, to_same = (torch.zeros(size, device=weight.device) for size in ctx.sizes)
        to_pair, to_weight, to_second = torch.empty_like(of_pair), torch.zeros_like(weight.T), torch.zeros_like(second)
        to_bias = torch.zeros_like(third)
        for rows, pairs, series in shared.chunks():
            middle = _where_positive(gradient[rows, None] * third, hidden[rows])
            to_bias += middle.sum(dim=0)
            to_second.addmm_(middle.T, first[rows])
            layer = _where_positive(middle @ second, first[rows])
            start = rows.start or 0
            shared.add_by_query(to_query, rows, layer)
            to_facts.index_add_(0, shared.pair[pairs], layer.index_select(0, shared.fact_slots[pairs] - start))
            torch.index_select(layer, 0, shared.same_slots[series] - start, out=to_same[series])
            to_pair[:, rows] = weight.T @ layer.T
            to_weight += of_pair[:, rows] @ layer
        to_third = torch.mv(hidden.T, gradient)
        return to_query, to_facts, to_same, to_pair, to_weight.T, to_second * ctx.scale, to_bias, to_third, None


def _where_positive(gradient: Tensor, values: Tensor) -> Tensor:
    """Return the gradient of ReLU, given its values, in place of the gradient that it received."""
    torch.ops.aten.threshold_backward.grad_input(gradient, values, 0, grad_input=gradient)
    return gradient


def _log(total: Tensor) -> Tensor:
    return torch.log(total + SMALL) / 3
