"""The network of ``Trust``: its first layer as a sum of terms that many reached answers share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from titer.kernels import triton_is_installed
from titer.models.path_mixture.dropout import effective_rate, random_mask

MAX_UNITS = 64
"""Units of the second layer up to which a GPU computes the network in one kernel."""
CHUNK = 4096
"""Reached answers that are processed together on a CPU."""


@dataclass(frozen=True)
class Shared:
    """Which terms of the first layer belong to a reached answer; the slots ascend, like the reached answers."""

    row: Tensor  # (reached,) the query
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

    def where(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return for each reached answer its query, and its positions among the facts, -1 for none. (reached,) each"""
        fact_of, same_of = (torch.full_like(self.row, -1, dtype=torch.int32) for _ in range(2))
        fact_of.index_copy_(0, self.fact_slots.long(), self.pair.int())
        series = torch.arange(len(self.same_slots), dtype=torch.int32, device=self.row.device)
        return self.row, fact_of, same_of.index_copy_(0, self.same_slots.long(), series)


def trust_network(
    of_query: Tensor, of_facts: Tensor, of_same: Tensor, of_pair: Tensor, weight: Tensor, second: Tensor, bias: Tensor,
    third: Tensor, shared: Shared,
) -> Tensor:  # fmt: skip
    """Return the output of a network with two hidden layers for each reached answer. (reached,)

    Args:
        of_query: A term of the first layer for each query. Shape ``(queries, first)``.
        of_facts: A term for each pair with past facts. Shape ``(pairs, first)``.
        of_same: A term for each series with the relation of its query. Shape ``(series, first)``.
        of_pair: Inputs of each reached answer. Shape ``(inputs, reached)``.
        weight: The weights of these inputs. Shape ``(first, inputs)``.
        second: The weights of the second layer. Shape ``(second, first)``.
        bias: The bias of the second layer. Shape ``(second,)``.
        third: The weights of the output. Shape ``(second,)``.
        shared: Which terms belong to which reached answer.
    """
    is_fused = of_query.is_cuda and triton_is_installed() and len(second) <= MAX_UNITS
    network = _FusedNetwork if is_fused else PlainNetwork
    terms = (of_query, of_facts, of_same, of_pair, weight, second, bias, third)
    return network.apply(*terms, shared)


class _FusedNetwork(torch.autograd.Function):
    """The network as one kernel, which keeps no hidden layer."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        from titer.models.path_mixture import trust_triton

        *terms, shared = inputs
        ctx.rate, ctx.scale = shared.dropout, 1 / (1 - shared.dropout)
        ctx.seed = torch.randint(1 << 30, (1,), device=terms[0].device) if ctx.rate else terms[0].new_zeros(1)
        terms[5] = terms[5] * ctx.scale
        ctx.where = shared.where()
        ctx.save_for_backward(*terms)
        precision = trust_triton.FAST if shared.is_kept else trust_triton.PRECISE
        return trust_triton.forward(tuple(terms), ctx.where, ctx.seed, ctx.rate, precision)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from titer.models.path_mixture import trust_triton

        found = trust_triton.backward(ctx.saved_tensors, ctx.where, ctx.seed, ctx.rate, gradients[0].contiguous())
        found[5] *= ctx.scale
        return *found, None


class PlainNetwork(torch.autograd.Function):
    """The network in pieces that fit into the cache of a CPU.

    Dropped units are zero like those that ReLU turns off, so their gradient needs no mask of its own.
    """

    @staticmethod
    def forward(
        ctx: Any, of_query: Tensor, of_facts: Tensor, of_same: Tensor, of_pair: Tensor, weight: Tensor,
        second: Tensor, bias: Tensor, third: Tensor, shared: Shared,
    ) -> Tensor:  # fmt: skip
        """Return the output for each reached answer. (reached,)"""
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
        """Return the gradients of all terms."""
        of_pair, weight, second, third, first, hidden = ctx.saved_tensors
        shared: Shared = ctx.shared
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
            to_query.index_add_(0, shared.row[rows], layer)
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
