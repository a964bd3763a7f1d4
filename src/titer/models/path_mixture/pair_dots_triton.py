"""Triton kernels of ``pair_dots`` and its gradient. One program handles a block of pairs."""
# ruff: noqa: N803 - constants of Triton kernels are in capitals

import torch
import triton
import triton.language as tl
from torch import Tensor

PAIRS = 32
"""Pairs in a block."""


@triton.jit(do_not_specialize=["num_pairs"])
def _forward_kernel(
    base, x, row, y, column, out, num_pairs, DIM: tl.constexpr, BLOCK: tl.constexpr, PAIRS: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    exists = at < num_pairs
    dim = tl.arange(0, BLOCK)
    mask = exists[:, None] & (dim < DIM)[None, :]
    left, right = tl.load(row + at, mask=exists, other=0), tl.load(column + at, mask=exists, other=0)
    of_row = tl.load(x + left[:, None].to(tl.int64) * DIM + dim[None, :], mask=mask, other=0.0)
    of_column = tl.load(y + right[:, None].to(tl.int64) * DIM + dim[None, :], mask=mask, other=0.0)
    total = tl.load(base + left, mask=exists, other=0.0) + tl.sum(of_row * of_column, axis=1)
    tl.store(out + at, total, mask=exists)


@triton.jit(do_not_specialize=["num_pairs"])
def _backward_kernel(
    x, row, y, column, gradient, to_base, to_x, to_y, num_pairs,
    DIM: tl.constexpr, BLOCK: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    exists = at < num_pairs
    dim = tl.arange(0, BLOCK)
    inside = dim < DIM
    mask = exists[:, None] & inside[None, :]
    left = tl.load(row + at, mask=exists, other=0).to(tl.int64)
    right = tl.load(column + at, mask=exists, other=0).to(tl.int64)
    upstream = tl.load(gradient + at, mask=exists, other=0.0)
    of_row = tl.load(x + left[:, None] * DIM + dim[None, :], mask=mask, other=0.0)
    spot = right[:, None] * DIM + dim[None, :]
    of_column = tl.load(y + spot, mask=mask, other=0.0)
    tl.atomic_add(to_y + spot, of_row * upstream[:, None], mask=mask & (upstream != 0)[:, None], sem="relaxed")
    # Rows ascend, so a block has few of them. Adding pair by pair, hundreds would wait for the same memory.
    left = tl.where(exists, left, -1)
    most = tl.max(left, axis=0)
    least = tl.min(tl.where(exists, left, most), axis=0)
    for each in range(least, most + 1):
        own = left == each
        total = tl.sum(tl.where(own[:, None], of_column * upstream[:, None], 0.0), axis=0)
        tl.atomic_add(to_x + each * DIM + dim, total, mask=inside, sem="relaxed")
        tl.atomic_add(to_base + each, tl.sum(tl.where(own, upstream, 0.0), axis=0), sem="relaxed")


def forward(base: Tensor, x: Tensor, row: Tensor, y: Tensor, column: Tensor) -> Tensor:
    """Return the products of pairs of rows, each plus the base of its first row. (pairs,)"""
    out = torch.empty(len(row), device=x.device)
    if len(row):
        sizes = x.shape[1], triton.next_power_of_2(max(x.shape[1], 1)), PAIRS
        _forward_kernel[(triton.cdiv(len(row), PAIRS),)](
            base.contiguous(), x.contiguous(), row, y.contiguous(), column, out, len(row), *sizes, num_warps=4
        )
    return out


def backward(x: Tensor, row: Tensor, y: Tensor, column: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the base and of both tables."""
    to_base, to_x, to_y = (
        x.new_zeros(len(x)),
        torch.zeros(x.shape, device=x.device),
        torch.zeros(y.shape, device=y.device),
    )
    if len(row):
        sizes = x.shape[1], triton.next_power_of_2(max(x.shape[1], 1)), PAIRS
        _backward_kernel[(triton.cdiv(len(row), PAIRS),)](
            x.contiguous(), row, y.contiguous(), column, gradient, to_base, to_x, to_y, len(row), *sizes, num_warps=4
        )
    return to_base, to_x, to_y
