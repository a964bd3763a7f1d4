"""Products of the vectors of some pairs, without a copy of the vectors for each pair."""

from typing import Any

import torch
from torch import Tensor

from titer.kernels import triton_is_installed


def pair_dots(base: Tensor, x: Tensor, row: Tensor, y: Tensor, column: Tensor) -> Tensor:
    """Return the product of two vectors for each pair, plus a constant.

    Args:
        base: The constant of each row. Shape ``(rows,)``.
        x: A vector for each row. Shape ``(rows, dim)``.
        row: The row of each pair, ascending. Shape ``(pairs,)``.
        y: A vector for each column. Shape ``(columns, dim)``.
        column: The column of each pair. Shape ``(pairs,)``.

    Returns:
        Shape ``(pairs,)``.
    """
    if x.is_cuda and triton_is_installed():
        return _PairDots.apply(base, x, row, y, column)
    return base.index_select(0, row) + (x.index_select(0, row) * y.index_select(0, column)).sum(dim=1)


class _PairDots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, base: Tensor, x: Tensor, row: Tensor, y: Tensor, column: Tensor) -> Tensor:
        from titer.models.path_mixture import pair_dots_triton

        ctx.save_for_backward(x, row, y, column)
        return pair_dots_triton.forward(base, x, row, y, column)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        from titer.models.path_mixture import pair_dots_triton

        x, row, y, column = ctx.saved_tensors
        base, of_x, of_y = pair_dots_triton.backward(x, row, y, column, gradients[0].contiguous())
        return base, of_x, None, of_y, None
