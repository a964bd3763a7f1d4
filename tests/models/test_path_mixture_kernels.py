"""The Triton kernels of the path mixture, against the versions in plain torch."""

import pytest
import torch

from titer.models.path_mixture.bags import Bags, sum_rows
from titer.models.path_mixture.pair_dots import pair_dots
from titer.models.path_mixture.trust_network import PlainNetwork, Shared
from triton_interpreter import KERNEL_DEVICE, needs_kernels


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


def network_inputs(num_reached: int, first: int, second: int, num_facts: int) -> tuple[list[torch.Tensor], Shared]:
    """Return random terms of a trust network, and which of them belong to which reached answer."""
    generator = torch.Generator().manual_seed(num_reached + first)
    num_queries, num_pairs, num_same, num_inputs = 6, 5, min(num_facts, 4), 7
    # Queries without an answer come first, in the middle and last.
    row = torch.randint(1, num_queries - 1, (num_reached,), generator=generator).sort().values
    row = torch.where(row == 2, 3, row)
    slots = torch.randperm(max(num_reached, 1), generator=generator)[: min(num_facts, num_reached)].sort().values
    pair = torch.randint(0, num_pairs, (len(slots),), generator=generator)
    same = slots[:: max(len(slots) // max(num_same, 1), 1)][:num_same]
    shapes = [(num_queries, first), (num_pairs, first), (len(same), first), (num_inputs, num_reached)]
    shapes += [(first, num_inputs), (second, first), (second,), (second,)]
    terms = [torch.randn(shape, generator=generator) / 3 for shape in shapes]
    return terms, Shared(row, pair, slots, same, dropout=0.0, is_kept=True)


def places(shared: Shared) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return which terms belong to each reached answer, on the device of the kernels."""
    row, fact_of, same_of = shared.where()
    return row.to(KERNEL_DEVICE), fact_of.to(KERNEL_DEVICE), same_of.to(KERNEL_DEVICE)


FAST_ERROR = 1e-4 if KERNEL_DEVICE == "cpu" else 1e-2
"""Of products in TF32; the interpreter computes them with 32 bits."""
NETWORKS = [(1, 16, 16, 0), (3, 8, 4, 2), (70, 128, 64, 40), (200, 24, 20, 9), (130, 32, 16, 130), (0, 16, 16, 0)]
"""Reached answers, units of the first and the second layer, and reached answers with past facts."""


@needs_kernels
@pytest.mark.parametrize("sizes", NETWORKS)
def test_kernel_computes_the_trust_network_and_its_gradient(sizes: tuple[int, int, int, int]):
    from titer.models.path_mixture import trust_triton

    terms, shared = network_inputs(*sizes)
    for each in terms:
        each.requires_grad_()
    expected = PlainNetwork.apply(*terms, shared)
    assert isinstance(expected, torch.Tensor)
    upstream = torch.randn(len(expected), generator=torch.Generator().manual_seed(1))
    wanted = torch.autograd.grad(expected, terms, upstream)
    on_device = tuple(each.detach().to(KERNEL_DEVICE) for each in terms)
    where = places(shared)
    seed = torch.zeros(1, dtype=torch.int64, device=KERNEL_DEVICE)
    for precision, error in ((trust_triton.PRECISE, 1e-4), (trust_triton.FAST, FAST_ERROR)):
        found = trust_triton.forward(on_device, where, seed, 0.0, precision)
        torch.testing.assert_close(found.cpu(), expected.detach(), rtol=error, atol=error)
        gradients = trust_triton.backward(on_device, where, seed, 0.0, upstream.to(KERNEL_DEVICE), precision)
        for each, right in zip(gradients, wanted, strict=True):
            if error < 1e-3:
                torch.testing.assert_close(each.cpu(), right, rtol=error, atol=error)
            elif len(expected) > 50:  # a unit near 0 may be on or off, which matters little among many answers
                assert float((each.cpu() - right).norm()) <= 10 * error * float(right.norm())


@needs_kernels
def test_kernel_drops_a_share_of_the_units_of_the_trust_network():
    from titer.models.path_mixture import trust_triton

    terms, shared = network_inputs(150, 128, 16, 0)
    # The output is the number of units of the first layer that are kept.
    terms = [torch.zeros_like(each) for each in terms]
    terms[0], terms[5][0], terms[7][0] = torch.ones_like(terms[0]), torch.ones(128), torch.tensor(1.0)
    where = places(shared)
    inputs = tuple(each.to(KERNEL_DEVICE) for each in terms)
    drawn = []
    for number in (1, 2):
        seed = torch.tensor([number], device=KERNEL_DEVICE)
        drawn.append(trust_triton.forward(inputs, where, seed, 0.25, trust_triton.FAST).cpu())
        assert torch.equal(drawn[-1], trust_triton.forward(inputs, where, seed, 0.25, trust_triton.FAST).cpu())
    assert not torch.equal(*drawn)
    for kept in drawn:
        assert abs(float(kept.mean()) - 96) < 2  # four standard errors
        assert 3 < float(kept.std()) < 7  # 4.9 if units are dropped independently


@needs_kernels
def test_kernel_differentiates_the_trust_network_with_the_same_dropped_units():
    from titer.models.path_mixture import trust_triton

    terms, shared = network_inputs(90, 32, 16, 30)
    where = places(shared)
    seed, generator = torch.tensor([5], device=KERNEL_DEVICE), torch.Generator().manual_seed(3)
    upstream = torch.randn(90, generator=generator).to(KERNEL_DEVICE)
    inputs = [each.to(KERNEL_DEVICE) for each in terms]
    gradients = trust_triton.backward(tuple(inputs), where, seed, 0.4, upstream, trust_triton.PRECISE)

    def value(changed: list[torch.Tensor]) -> float:
        return float(
            (
                trust_triton.forward(tuple(changed), where, seed, 0.4, trust_triton.PRECISE).double()
                * upstream.double()
            ).sum()
        )

    for number, gradient in enumerate(gradients):
        # A large part of the gradient, so that the difference is well above the rounding.
        direction, size = gradient / gradient.norm(), 1e-3
        ends = [[*inputs[:number], inputs[number] + side * direction, *inputs[number + 1 :]] for side in (size, -size)]
        slope = (value(ends[0]) - value(ends[1])) / (2 * size)
        assert slope == pytest.approx(float(gradient.norm()), rel=0.05), number


@needs_kernels
@pytest.mark.parametrize(("num_pairs", "dim"), [(0, 8), (1, 1), (33, 32), (100, 20), (70, 128)])
def test_kernel_multiplies_pairs_and_has_the_gradient_of_the_plain_version(num_pairs: int, dim: int):
    from titer.models.path_mixture import pair_dots_triton

    generator = torch.Generator().manual_seed(num_pairs)
    row = torch.randint(0, 7, (num_pairs,), generator=generator).sort().values
    column = torch.randint(0, 5, (num_pairs,), generator=generator)
    base, x, y = (torch.randn(shape, generator=generator, requires_grad=True) for shape in ((7,), (7, dim), (5, dim)))
    expected = pair_dots(base, x, row, y, column)
    upstream = torch.randn(num_pairs, generator=generator)
    wanted = torch.autograd.grad(expected, (base, x, y), upstream)
    left, right, row, column = (each.detach().to(KERNEL_DEVICE) for each in (x, y, row, column))
    found = pair_dots_triton.forward(base.detach().to(KERNEL_DEVICE), left, row, right, column)
    torch.testing.assert_close(found.cpu(), expected.detach(), rtol=1e-5, atol=1e-5)
    gradients = pair_dots_triton.backward(left, row, right, column, upstream.to(KERNEL_DEVICE))
    for each, right in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(each.cpu(), right, rtol=1e-5, atol=1e-5)
