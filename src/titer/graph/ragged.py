"""Operations on ranges and segments of different lengths, concatenated in one tensor."""

import torch
from torch import Tensor


def spread(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Return every position of the ranges ``start .. end-1``, preceded by the number of the range it belongs to.

    ``spread([5, 9], [7, 10])`` is ``([0, 0, 1], [5, 6, 9])``.
    """
    lengths = end - start  # (ranges,)
    owner = torch.repeat_interleave(lengths)  # (positions,)
    before = torch.cumsum(lengths, 0) - lengths
    position = torch.arange(len(owner), device=start.device) + (start - before).index_select(0, owner)
    return owner, position


def segment_softmax(values: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """Return the softmax within each segment; ``segment`` is the segment of each value, in any order. (values,)"""
    highest = values.new_full((num_segments,), -torch.inf)
    highest = highest.scatter_reduce(0, segment, values.detach(), reduce="amax")  # prevents an overflow of exp()
    weight = torch.exp(values - highest[segment])
    return weight / weight.new_zeros(num_segments).index_add(0, segment, weight).index_select(0, segment)


def largest_of_each(values: Tensor, segment: Tensor, num_segments: int, count: int) -> Tensor:
    """Return the positions of the ``count`` largest values of each segment, by segment, largest first.

    Of equal values, the one with the smallest position comes first.

    ``largest_of_each([1, 5, 3, 2], [0, 0, 0, 1], 2, 2)`` is ``[1, 2, 3]``.
    """
    order = torch.sort(values, descending=True, stable=True).indices
    ordered, again = torch.sort(segment[order], stable=True)
    first = torch.searchsorted(ordered, torch.arange(num_segments, device=segment.device))
    rank = torch.arange(len(ordered), device=segment.device) - first[ordered]
    return order[again[rank < count]]
