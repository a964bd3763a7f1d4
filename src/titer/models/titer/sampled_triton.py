"""Triton kernels of ``sampled_dots`` and its gradient. One program handles one walk."""
# ruff: noqa: N803 - constants of Triton kernels are in capitals

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _forward_kernel(
    x, table, rows, out, num_candidates, DIM: tl.constexpr, BLOCK: tl.constexpr, CANDIDATES: tl.constexpr
):
    walk = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, BLOCK)
    inside = dim < DIM
    vector = tl.load(x + walk * DIM + dim, mask=inside, other=0.0)
    for first in range(0, num_candidates, CANDIDATES):
        candidate = first + tl.arange(0, CANDIDATES)
        exists = candidate < num_candidates
        row = tl.load(rows + walk * num_candidates + candidate, mask=exists, other=0)
        values = tl.load(table + row[:, None] * DIM + dim[None, :], mask=exists[:, None] & inside[None, :], other=0.0)
        tl.store(out + walk * num_candidates + candidate, tl.sum(values * vector[None, :], axis=1), mask=exists)


@triton.jit
def _backward_kernel(
    x,
    table,
    rows,
    gradient,
    grad_x,
    grad_table,
    num_candidates,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
    CANDIDATES: tl.constexpr,
):
    walk = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, BLOCK)
    inside = dim < DIM
    vector = tl.load(x + walk * DIM + dim, mask=inside, other=0.0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, num_candidates, CANDIDATES):
        candidate = first + tl.arange(0, CANDIDATES)
        exists = candidate < num_candidates
        row = tl.load(rows + walk * num_candidates + candidate, mask=exists, other=0)
        g = tl.load(gradient + walk * num_candidates + candidate, mask=exists, other=0.0)
        place = row[:, None] * DIM + dim[None, :]
        mask = exists[:, None] & inside[None, :]
        values = tl.load(table + place, mask=mask, other=0.0)
        total += tl.sum(values * g[:, None], axis=0)
        # Masked candidates have a gradient of zero, so their rows are skipped.
        tl.atomic_add(grad_table + place, g[:, None] * vector[None, :], mask=mask & (g != 0)[:, None], sem="relaxed")
    tl.store(grad_x + walk * DIM + dim, total, mask=inside)


def forward(x: Tensor, table: Tensor, rows: Tensor) -> Tensor:
    """Return what ``sampled.reference_sampled_dots`` returns, for tensors on a GPU."""
    x, table, rows = x.contiguous(), table.contiguous(), rows.contiguous()
    out = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(x.shape[1])
    if rows.numel():
        _forward_kernel[(len(rows),)](x, table, rows, out, rows.shape[1], x.shape[1], block, 32, num_warps=4)
    return out


def backward(x: Tensor, table: Tensor, rows: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``x`` and ``table``. Walks that share a row add to its gradient atomically."""
    x, table, rows = x.contiguous(), table.contiguous(), rows.contiguous()
    grad_x, grad_table = torch.empty_like(x), torch.zeros_like(table)
    block = triton.next_power_of_2(x.shape[1])
    if not rows.numel():
        grad_x.zero_()
    else:
        _backward_kernel[(len(rows),)](
            x, table, rows, gradient, grad_x, grad_table, rows.shape[1], x.shape[1], block, 32, num_warps=4
        )
    return grad_x, grad_table
