"""The optimisers of training, and the clipping of gradients, against those of PyTorch."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from titer.training import optimisers
from titer.training.gradients import clip_gradients, coalesce_gradients
from titer.training.optimisers import EagerAdam

SHAPES = ((7,), (300, 8), (5, 3, 2))


def train(kind: type[torch.optim.Adam]) -> tuple[list[nn.Parameter], torch.optim.Adam]:
    """Take some optimisation steps; the last parameter has no gradient in the first ones."""
    generator = torch.Generator().manual_seed(0)
    parameters = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    optimiser = kind(parameters, lr=0.01, weight_decay=1e-3, fused=True)
    for number in range(5):
        optimiser.zero_grad()
        used = parameters[: 2 if number < 2 else 3]
        torch.stack([(number + 1) * (each**2).sum() for each in used]).sum().backward()
        optimiser.step()
    return parameters, optimiser


@pytest.mark.parametrize("size", [None, 1000, 64, 1])
def test_adam_updates_weights_in_pieces_as_it_does_at_once(size: int | None, monkeypatch: pytest.MonkeyPatch):
    expected, of_torch = train(torch.optim.Adam)
    if size is not None:
        monkeypatch.setattr(optimisers, "piece_size", lambda weights: size)
    found, ours = train(EagerAdam)
    for each, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(each, wanted, rtol=1e-6, atol=1e-6)
    states = zip(ours.state_dict()["state"].values(), of_torch.state_dict()["state"].values(), strict=True)
    for state, wanted in states:
        assert state.keys() == wanted.keys()
        for name in wanted:
            torch.testing.assert_close(state[name], wanted[name], rtol=1e-6, atol=1e-6)


def embeddings(*, sparse: bool) -> list[nn.Parameter]:
    """A table of six rows and a scalar, with the gradients of a product of rows 1, 1 and 4."""
    generator = torch.Generator().manual_seed(0)
    table = nn.Parameter(torch.randn(6, 3, generator=generator))
    factor = nn.Parameter(torch.tensor(2.0))
    rows = functional.embedding(torch.tensor([1, 4, 1]), table, sparse=sparse)
    (factor * (rows * torch.tensor([1.0, -2.0, 3.0])).square().sum()).backward()
    coalesce_gradients([table, factor])
    return [table, factor]


def test_adam_updates_the_rows_of_a_sparse_gradient_as_those_of_a_dense_one():
    (table, factor), (expected, wanted_factor) = embeddings(sparse=True), embeddings(sparse=False)
    settings = {"lr": 0.1, "weight_decay": 0.1, "fused": True}
    before, ours = table.detach().clone(), EagerAdam([table, factor], **settings)
    of_torch = torch.optim.Adam([expected, wanted_factor], **settings)
    for _ in range(3):
        ours.step()
        of_torch.step()
    read, others = [1, 4], [0, 2, 3, 5]
    torch.testing.assert_close(table[read], expected[read])
    torch.testing.assert_close(factor, wanted_factor)
    assert torch.equal(table[others], before[others])
    state, wanted = ours.state[table], of_torch.state[expected]
    assert state.keys() == wanted.keys()
    assert state["step"] == wanted["step"]
    for name in ("exp_avg", "exp_avg_sq"):
        torch.testing.assert_close(state[name][read], wanted[name][read])


def test_rows_of_a_sparse_gradient_are_updated_as_by_the_sparse_adam_of_torch():
    ours, theirs = (nn.Parameter(torch.ones(5, 2)) for _ in range(2))
    optimisers_of = EagerAdam([ours], lr=0.1, fused=True), torch.optim.SparseAdam([theirs], lr=0.1)
    for rows in ([0, 3], [3], [1, 2, 3], [0]):
        for table, optimiser in zip((ours, theirs), optimisers_of, strict=True):
            optimiser.zero_grad()
            functional.embedding(torch.tensor(rows), table, sparse=True).pow(2).sum().backward()
            coalesce_gradients([table])
            optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("max_norm", [0.5, 1e6])
@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_are_clipped_as_by_torch(max_norm: float, sparse: bool):
    found, expected = embeddings(sparse=sparse), embeddings(sparse=False)
    clip_gradients([*found, nn.Parameter(torch.ones(2))], max_norm)
    nn.utils.clip_grad_norm_(expected, max_norm)
    for each, wanted in zip(found, expected, strict=True):
        assert each.grad is not None
        assert wanted.grad is not None
        torch.testing.assert_close(each.grad.to_dense(), wanted.grad)
