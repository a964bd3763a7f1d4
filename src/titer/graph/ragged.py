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


def segment_softmax(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """softmax within each segment: ``segment`` says which one a value belongs to, in any order. (values,)"""
    highest = values.new_full((num_segments,), -torch.inf)
    highest = highest.scatter_reduce(0, segment, values.detach(), reduce="amax")  # exp() must not overflow
    weight = torch.exp(values - highest[segment])
    return weight / weight.new_zeros(num_segments).index_add(0, segment, weight).index_select(0, segment)


def largest_of_each(values: Tensor, segment: Tensor, num_segments: int, count: int) -> Tensor:
    """The places of the ``count`` largest values of each segment, by segment, the largest first; of equals the first.

    ``largest_of_each([1, 5, 3, 2], [0, 0, 0, 1], 2, 2)`` is ``[1, 2, 3]``.
    """
    order = torch.sort(values, descending=True, stable=True).indices
    ordered, again = torch.sort(segment[order], stable=True)
    first = torch.searchsorted(ordered, torch.arange(num_segments, device=segment.device))
    rank = torch.arange(len(ordered), device=segment.device) - first[ordered]
    return order[again[rank < count]]
