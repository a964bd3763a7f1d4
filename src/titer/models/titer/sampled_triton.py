"""Triton kernels of ``sampled_dots``."""
# pyright: reportMissingImports=false, reportIndexIssue=false
# ruff: noqa: N803 - Triton's constants are written in capitals

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
    of_x,
    of_table,
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
        # Candidates that are not there have no gradient: their rows need not be touched.
        tl.atomic_add(of_table + place, g[:, None] * vector[None, :], mask=mask & (g != 0)[:, None], sem="relaxed")
    tl.store(of_x + walk * DIM + dim, total, mask=inside)


def forward(x: Tensor, table: Tensor, rows: Tensor) -> Tensor:
    """One program for every walk."""
    x, table, rows = x.contiguous(), table.contiguous(), rows.contiguous()
    out = torch.empty(rows.shape, dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(x.shape[1])
    if rows.numel():
        _forward_kernel[(len(rows),)](x, table, rows, out, rows.shape[1], x.shape[1], block, 32, num_warps=4)
    return out


def backward(x: Tensor, table: Tensor, rows: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the table; rows that several walks chose are added up atomically."""
    x, table, rows = x.contiguous(), table.contiguous(), rows.contiguous()
    of_x, of_table = torch.empty_like(x), torch.zeros_like(table)
    block = triton.next_power_of_2(x.shape[1])
    if not rows.numel():
        of_x.zero_()
    else:
        _backward_kernel[(len(rows),)](
            x, table, rows, gradient, of_x, of_table, rows.shape[1], x.shape[1], block, 32, num_warps=4
        )
    return of_x, of_table
