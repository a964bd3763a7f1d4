"""Weighted sums of table rows, with a gradient that is a sum of the same kind."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def sum_rows(table: Tensor, index: Tensor, start: Tensor, weight: Tensor) -> Tensor:
    """Return weighted sums of rows of a table.

    Args:
        table: The table. Shape ``(rows, dim)``.
        index: The rows to add, those of each sum after those of the sum before it. Shape ``(terms,)``.
        start: Position in ``index`` at which each sum begins. Shape ``(sums,)``.
        weight: The factor of each term, a constant without a gradient. Shape ``(terms,)``.

    Returns:
        The sums; zero for a sum without terms. Shape ``(sums, dim)``.
    """
    return _SumRows.apply(table, index, start, weight)  # type: ignore[no-any-return]


class _SumRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor, start: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(index, start, weight)
        ctx.num_rows = len(table)
        return functional.embedding_bag(index, table, start, mode="sum", per_sample_weights=weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        # The gradient of a row sums the gradients of the sums that it occurs in: the transposed sparse product.
        index, start, weight = ctx.saved_tensors
        (gradient,) = gradients
        owner = torch.searchsorted(start, torch.arange(len(index), device=index.device), right=True) - 1
        ordered, order = torch.sort(index)
        first = torch.searchsorted(ordered, torch.arange(ctx.num_rows, device=index.device))
        summed = functional.embedding_bag(
            owner[order], gradient.contiguous(), first, mode="sum", per_sample_weights=weight[order]
        )
        return summed, None, None, None
