"""The optimisers of training, against those of PyTorch."""

import pytest
import torch
from torch import nn

from titer.training import optimisers
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
