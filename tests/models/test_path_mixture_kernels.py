"""The Triton kernels of the path mixture, against the versions in plain torch."""

from pathlib import Path

import pytest
import torch

from titer.models.path_mixture.bags import Bags, sum_rows
from triton_interpreter import KERNEL_DEVICE, needs_interpreter, needs_kernels, run_interpreted


@needs_kernels
@pytest.mark.parametrize(("num_bags", "dim", "longest"), [(1, 3, 1), (7, 16, 5), (20, 33, 40), (5, 128, 0)])
def test_kernel_sums_rows_and_has_the_gradient_of_the_plain_version(num_bags: int, dim: int, longest: int):
    from titer.models.path_mixture import bags_triton

    generator = torch.Generator().manual_seed(num_bags)
    length = torch.randint(0, longest + 1, (num_bags,), generator=generator, dtype=torch.int32)
    # Two terms of padding follow, and the last row of the table is in no bag.
    num_terms, num_rows = int(length.sum()) + 2, 9
    index = torch.randint(0, num_rows - 1, (num_terms,), generator=generator, dtype=torch.int32)
    weight = torch.randn(num_terms, generator=generator)
    weight[-2:] = 0
    bags = Bags(index, weight, length)
    table = torch.randn(num_rows, dim, generator=generator, requires_grad=True)
    expected = sum_rows(table, bags)
    upstream = torch.randn(expected.shape, generator=generator)
    (wanted,) = torch.autograd.grad(expected, table, upstream)
    parts = [each.to(KERNEL_DEVICE) for each in (index, weight, bags.start(), length)]
    found = bags_triton.forward(table.detach().to(KERNEL_DEVICE), *parts)
    torch.testing.assert_close(found.cpu(), expected.detach(), rtol=1e-5, atol=1e-5)
    gradient = bags_triton.backward(upstream.to(KERNEL_DEVICE), num_rows, *parts)
    torch.testing.assert_close(gradient.cpu(), wanted, rtol=1e-5, atol=1e-5)


@needs_kernels
@pytest.mark.parametrize(("num_segments", "dim", "longest"), [(1, 3, 1), (7, 40, 70), (4, 128, 0)])
def test_kernel_sums_segments(num_segments: int, dim: int, longest: int):
    from titer.models.path_mixture import bags_triton

    generator = torch.Generator().manual_seed(num_segments)
    length = torch.randint(0, longest + 1, (num_segments,), generator=generator, dtype=torch.int32)
    values = torch.randn(int(length.sum()) + 3, dim, generator=generator)  # three rows of padding
    start = length.cumsum(0, dtype=torch.int32) - length
    found = bags_triton.segment_sums(*(each.to(KERNEL_DEVICE) for each in (values, start, length)))
    for each, first, size in zip(found.cpu(), start.tolist(), length.tolist(), strict=True):
        torch.testing.assert_close(each, values[first : first + size].sum(dim=0), rtol=1e-5, atol=1e-5)


@needs_interpreter
@pytest.mark.slow
def test_the_interpreter_runs_the_kernels():
    run_interpreted(Path(__file__), "test_kernel")
