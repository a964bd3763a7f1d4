"""Sampled products against their reference version."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.models.titer.sampled import reference_sampled_dots, sampled_dots

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


@pytest.mark.parametrize("device", DEVICES)
@given(
    walks=st.integers(1, 9),
    candidates=st.integers(1, 40),
    dim=st.integers(1, 20),
    num_rows=st.integers(1, 200),
    seed=st.integers(0, 99),
)
def test_products_and_gradients_are_those_of_gathered_rows(device, walks, candidates, dim, num_rows, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(walks, dim, generator=generator).to(device).requires_grad_()
    table = torch.randn(num_rows, dim, generator=generator).to(device).requires_grad_()
    rows = torch.randint(0, num_rows, (walks, candidates), generator=generator).to(device)
    weight = torch.randn(walks, candidates, generator=generator).to(device)
    ours, reference = sampled_dots(x, table, rows), reference_sampled_dots(x, table, rows)
    torch.testing.assert_close(ours, reference, rtol=1e-4, atol=1e-4)
    for a, b in zip(
        torch.autograd.grad((ours * weight).sum(), (x, table)),
        torch.autograd.grad((reference * weight).sum(), (x, table)),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
