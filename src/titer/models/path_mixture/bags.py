"""Weighted sums of table rows, with a gradient that is a sum of the same kind."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import torch
from torch import Tensor
from torch.nn import functional

from titer.kernels import triton_is_installed
from titer.models.common.plan import Column


@dataclass(frozen=True)
class Bags:
    """Which rows of a table to add, and with which factors: several sums, one after another.

    Terms after those of the last bag are padding, and have no weight.
    """

    index: Annotated[Tensor, Column("terms")]  # (terms,) the rows to add, those of each bag after those before it
    weight: Annotated[Tensor, Column("terms")]  # (terms,) the factor of each, a constant without a gradient
    length: Annotated[Tensor, Column("bags")]  # (bags,) number of terms

    def start(self) -> Tensor:
        """Return the first term of each bag. (bags,)"""
        return torch.cumsum(self.length, 0, dtype=self.length.dtype) - self.length

    def owner(self) -> Tensor:
        """Return the bag of each term. (terms,)"""
        start = self.start()
        position = torch.arange(len(self.index), dtype=start.dtype, device=start.device)
        return torch.searchsorted(start, position, right=True, out_int32=True) - 1

    def transposed(self, num_rows: int) -> "Bags":
        """Return the bags of the gradient: for every row of the table, the sums that it occurs in."""
        if num_rows not in self._transposed:
            order = torch.argsort(self.index, stable=True)
            ordered = self.index.index_select(0, order)
            bounds = torch.searchsorted(ordered, torch.arange(num_rows + 1, dtype=ordered.dtype), out_int32=True)
            index, weight = self.owner().index_select(0, order), self.weight.index_select(0, order)
            self._transposed[num_rows] = Bags(index, weight, bounds[1:] - bounds[:-1])
        return self._transposed[num_rows]

    @cached_property
    def _transposed(self) -> "dict[int, Bags]":
        return {}


def sum_rows(table: Tensor, bags: Bags) -> Tensor:
    """Return weighted sums of rows of a table.

    Args:
        table: The table. Shape ``(rows, dim)``.
        bags: The rows to add.

    Returns:
        The sums; zero for a sum without terms. Shape ``(bags, dim)``.
    """
    if table.is_cuda and not triton_is_installed():
        each = table.index_select(0, bags.index) * bags.weight[:, None]
        return torch.zeros(len(bags.length), table.shape[1], device=table.device).index_add(0, bags.owner(), each)
    return _SumRows.apply(table, bags)


class _SumRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, bags: Bags) -> Tensor:
        ctx.bags, ctx.num_rows = bags, len(table)
        if table.is_cuda:
            from titer.models.path_mixture import bags_triton

            return bags_triton.forward(table, bags.index, bags.weight, bags.start(), bags.length)
        return _on_cpu(table, bags)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        bags, gradient = ctx.bags, gradients[0].contiguous()
        if gradient.is_cuda:
            from titer.models.path_mixture import bags_triton

            table = (ctx.num_rows, bags.index, bags.weight, bags.start(), bags.length)
            return bags_triton.backward(gradient, *table), None
        # The gradient of a row sums the gradients of the sums that it occurs in: the transposed sparse product.
        return _on_cpu(gradient, bags.transposed(ctx.num_rows)), None


def _on_cpu(table: Tensor, bags: Bags) -> Tensor:
    if len(bags.length) == 0:
        return table.new_zeros(0, table.shape[1])
    start = bags.start()
    # Both must have the same type.
    return functional.embedding_bag(
        bags.index, table, start.to(bags.index.dtype), mode="sum", per_sample_weights=bags.weight
    )
