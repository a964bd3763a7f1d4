"""A Triton kernel for the latest edges of a batch of entities."""
# ruff: noqa: N803 - Triton's constants are written in capitals

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

if TYPE_CHECKING:
    from titer.graph.history import History


@triton.jit
def _latest_kernel(
    key, relation, object, offsets, entity, before, relation_out, object_out, time_out, mask_out,
    first_time, num_edges, num_entities, limit,
    INCLUSIVE: tl.constexpr, DEPTH: tl.constexpr, LIMIT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    node = tl.load(entity + row)
    start = tl.load(offsets + node)
    high = tl.load(offsets + node + 1, mask=node < num_entities, other=num_edges)
    # Keys count time from the first fact; no edge is earlier. Inclusive means before the next time step.
    elapsed = tl.load(before + row) - first_time + INCLUSIVE
    low = start
    for _ in range(DEPTH):  # binary search among the entity's own edges
        middle = (low + high) // 2
        time = tl.load(key + middle, mask=middle < high, other=0) & 0xFFFFFFFF
        earlier = (middle < high) & (time < elapsed)
        low = tl.where(earlier, middle + 1, low)
        high = tl.where(earlier, high, tl.maximum(middle, low))
    slot = tl.arange(0, LIMIT)
    position = low - 1 - slot
    exists = position >= start
    place = tl.where(exists, position, num_edges)  # the padding edge
    inside = slot < limit
    out = row * limit + slot
    tl.store(relation_out + out, tl.load(relation + place).to(tl.int64), mask=inside)
    tl.store(object_out + out, tl.load(object + place).to(tl.int64), mask=inside)
    time = (tl.load(key + place) & 0xFFFFFFFF) + first_time
    tl.store(time_out + out, tl.where(exists, time, 0), mask=inside)
    tl.store(mask_out + out, exists, mask=inside)


def latest(
    history: "History", entity: Tensor, before: Tensor, limit: int, inclusive: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return relation, object, time and mask of the latest edges; one program per entity of the batch."""
    shape = (len(entity), limit)
    relation, object, time = (torch.empty(shape, dtype=torch.int64, device=history.device) for _ in range(3))
    mask = torch.empty(shape, dtype=torch.bool, device=history.device)
    if len(entity):
        _latest_kernel[(len(entity),)](
            history.key, history.relation, history.object, history.offsets, entity.contiguous(), before.contiguous(),
            relation, object, time, mask, history.first_time, history.num_edges, history.vocabulary.num_entities, limit,
            INCLUSIVE=int(inclusive), DEPTH=history.max_edges.bit_length() + 1, LIMIT=triton.next_power_of_2(limit),
            num_warps=1 if limit <= 64 else 4,
        )  # fmt: skip
    return relation, object, time, mask
