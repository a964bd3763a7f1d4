"""Ranges of different lengths, laid end to end."""

import torch
from torch import Tensor


def spread(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Every position of the ranges ``start .. end-1``, and which range each belongs to.

    ``spread([5, 9], [7, 10])`` is ``([0, 0, 1], [5, 6, 9])``.
    """
    lengths = end - start  # (ranges,)
    owner = torch.repeat_interleave(lengths)  # (positions,)
    before = torch.cumsum(lengths, 0) - lengths
    position = torch.arange(len(owner), device=start.device) + (start - before)[owner]
    return owner, position
