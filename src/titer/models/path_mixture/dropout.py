"""Dropout from random bytes."""

import torch
from torch import Tensor, nn

BYTES = 256


class Dropout(nn.Module):
    """Dropout like ``nn.Dropout``. On a CPU the rate is rounded to a multiple of 1/256.

    The generator of a CPU draws eight bytes at the price of one number, and drawing a number for each value would take
    longer than the matrix products around it.
    """

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        """Return the values, scaled, with a random share of them zeroed in training."""
        if not self.training or self.rate == 0:
            return values
        if values.device.type != "cpu":
            return nn.functional.dropout(values, self.rate)
        return values * random_mask(values, self.rate) * (1 / (1 - effective_rate(self.rate, values.device)))


def random_mask(values: Tensor, rate: float) -> Tensor:
    """Return numbers that are 0 for a random share of the values, and 1 for the others. (same shape)"""
    if values.device.type != "cpu":
        return (torch.rand_like(values) >= rate).to(values.dtype)
    words = torch.empty((values.numel() + 7) // 8, dtype=torch.int64).random_(torch.iinfo(torch.int64).min, None)
    drawn = words.view(torch.uint8)[: values.numel()].view(values.shape)
    # Written as numbers: a mask of booleans takes several times as long to compute and to apply.
    return torch.ge(drawn, round(rate * BYTES), out=torch.empty(values.shape))


def effective_rate(rate: float, device: torch.device) -> float:
    """Return the share of values that ``random_mask`` selects on a device."""
    return round(rate * BYTES) / BYTES if device.type == "cpu" else rate
