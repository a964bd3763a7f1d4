"""Dot products with selected rows of a table, computed without gathering the rows.

``sampled_dots(x, table, rows)[i, j] = ⟨x[i], table[rows[i, j]]⟩`` is the main cost of scoring many candidates.
Gathering would build a tensor of size (walks, candidates, dim) only to sum over its last axis. On a CPU this is the
sampled product of sparse linear algebra, on a GPU with Triton a kernel. A reference version computes the same on any
device.
"""

import warnings
from typing import Any

import torch
from torch import Tensor

from titer.kernels import triton_is_installed


def sampled_dots(x: Tensor, table: Tensor, rows: Tensor) -> Tensor:
    """Return ⟨x[i], table[rows[i, j]]⟩ for every i and j.

    Args:
        x: One vector for each walk. Shape ``(walks, dim)``.
        table: The table. Shape ``(rows, dim)``.
        rows: Row of the table for each candidate. Shape ``(walks, candidates)``.

    Returns:
        The products. Shape ``(walks, candidates)``.
    """
    if len(table) <= 2 * rows.shape[1]:
        return (x @ table.T).gather(1, rows)  # all products are few enough
    return _SampledDots.apply(x, table, rows)


def reference_sampled_dots(x: Tensor, table: Tensor, rows: Tensor) -> Tensor:
    """Return the same by gathering and multiplying. The other versions are tested against this one."""
    gathered = table.index_select(0, rows.flatten()).view(*rows.shape, table.shape[1])  # (walks, candidates, dim)
    return (gathered @ x[:, :, None])[..., 0]


class _SampledDots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(x, table, rows)
        if _use_triton(x):
            from titer.models.titer import sampled_triton

            return sampled_triton.forward(x, table, rows)
        if x.is_cuda or x.dtype != torch.float32:
            return reference_sampled_dots(x, table, rows)
        pattern = _sparse(rows, torch.zeros(rows.numel()), len(table))
        return torch.sparse.sampled_addmm(pattern, x, table.T, beta=0.0).values().view(rows.shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        x, table, rows = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        if _use_triton(x):
            from titer.models.titer import sampled_triton

            return *sampled_triton.backward(x, table, rows, gradient), None
        if x.is_cuda or x.dtype != torch.float32:
            gathered = table.index_select(0, rows.flatten()).view(*rows.shape, table.shape[1])
            grad_x = (gradient[:, None] @ gathered)[:, 0]
        else:
            grad_x = torch.sparse.mm(_sparse(rows, gradient.flatten(), len(table)), table)
        outer = (gradient[:, :, None] * x[:, None]).view(-1, x.shape[1])
        return grad_x, torch.zeros_like(table).index_add_(0, rows.flatten(), outer), None


def _sparse(rows: Tensor, values: Tensor, num_rows: int) -> Tensor:
    """Return a sparse matrix (walks, rows of the table) with one value for every candidate."""
    starts = torch.arange(0, rows.numel() + 1, max(rows.shape[1], 1))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse", category=UserWarning)
        return torch.sparse_csr_tensor(
            starts, rows.flatten(), values, size=(len(rows), num_rows), check_invariants=False
        )


def _use_triton(x: Tensor) -> bool:
    return x.is_cuda and x.dtype == torch.float32 and triton_is_installed()
