"""Triton kernels of ``sum_rows`` and its gradient. One program handles one bag."""
# ruff: noqa: N803 - constants of Triton kernels are in capitals

import torch
import triton
import triton.language as tl
from torch import Tensor

TERMS = 8
"""Terms that a program reads at once."""


@triton.jit
def _forward_kernel(table, index, weight, start, length, out, DIM: tl.constexpr, BLOCK: tl.constexpr, N: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, BLOCK)
    inside = dim < DIM
    first, size = tl.load(start + bag), tl.load(length + bag)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for done in range(0, size, N):
        term = done + tl.arange(0, N)
        exists = term < size
        row = tl.load(index + first + term, mask=exists, other=0).to(tl.int64)
        factor = tl.load(weight + first + term, mask=exists, other=0.0)
        values = tl.load(table + row[:, None] * DIM + dim[None, :], mask=exists[:, None] & inside[None, :], other=0.0)
        total += tl.sum(values * factor[:, None], axis=0)
    tl.store(out + bag * DIM + dim, total, mask=inside)


@triton.jit
def _backward_kernel(
    gradient, index, weight, start, length, out, DIM: tl.constexpr, BLOCK: tl.constexpr, N: tl.constexpr
):
    bag = tl.program_id(0).to(tl.int64)
    dim = tl.arange(0, BLOCK)
    inside = dim < DIM
    first, size = tl.load(start + bag), tl.load(length + bag)
    vector = tl.load(gradient + bag * DIM + dim, mask=inside, other=0.0)
    for done in range(0, size, N):
        term = done + tl.arange(0, N)
        exists = term < size
        row = tl.load(index + first + term, mask=exists, other=0).to(tl.int64)
        factor = tl.load(weight + first + term, mask=exists, other=0.0)
        place = row[:, None] * DIM + dim[None, :]
        mask = (exists & (factor != 0))[:, None] & inside[None, :]
        tl.atomic_add(out + place, factor[:, None] * vector[None, :], mask=mask, sem="relaxed")


def forward(table: Tensor, index: Tensor, weight: Tensor, start: Tensor, length: Tensor) -> Tensor:
    """Return the weighted sums of rows of a table. (bags, dim)"""
    table = table.contiguous()
    out = torch.empty(len(length), table.shape[1], device=table.device)
    _launch(_forward_kernel, table, index, weight, start, length, out)
    return out


def backward(gradient: Tensor, num_rows: int, index: Tensor, weight: Tensor, start: Tensor, length: Tensor) -> Tensor:
    """Return the gradient of the table. (num_rows, dim)"""
    out = torch.zeros(num_rows, gradient.shape[1], device=gradient.device)
    _launch(_backward_kernel, gradient, index, weight, start, length, out)
    return out


def _launch(kernel, source: Tensor, index: Tensor, weight: Tensor, start: Tensor, length: Tensor, out: Tensor) -> None:
    dim = source.shape[1]
    if len(length) and dim:
        block = triton.next_power_of_2(dim)
        kernel[(len(length),)](source, index, weight, start, length, out, dim, block, TERMS, num_warps=2)
