"""Message passing along the edges of a graph, in plain PyTorch.

In all functions, ``target`` is the row that each message goes to. Rows are gathered with ``index_select`` and not by
indexing, because its gradient is a single ``index_add_``.
"""

import torch
from torch import Tensor, nn


def sum_over(target: Tensor, messages: Tensor, size: int) -> Tensor:
    """Return the sum of the messages to each row. (size, dim)"""
    return messages.new_zeros(size, messages.shape[1]).index_add_(0, target, messages)


def mean_over(target: Tensor, messages: Tensor, size: int) -> Tensor:
    """Return the mean of the messages to each row, zero where there are none. (size, dim)"""
    count = torch.bincount(target, minlength=size).clamp(min=1)
    return sum_over(target, messages, size) / count[:, None]


def max_over(target: Tensor, messages: Tensor, size: int) -> Tensor:
    """Return the element-wise maximum of the messages to each row, zero where there are none. (size, dim)"""
    place = target[:, None].expand_as(messages)
    empty = messages.new_zeros(size, messages.shape[1])
    return empty.scatter_reduce(0, place, messages, reduce="amax", include_self=False)


class RelationalConvolution(nn.Module):
    r"""The two linear maps of an R-GCN layer (Schlichtkrull et al., ESWC 2018): W_0 of a node, W_r of its neighbours.

    Each W_r is block-diagonal, so that an edge costs dim x block multiplications.
    """

    def __init__(self, num_relations: int, dim: int, block: int):
        super().__init__()
        self.block = block
        self.own = nn.Linear(dim, dim)
        # Near the identity, so that messages carry the state of the neighbour from the start of training.
        identity = torch.eye(block).repeat(1, dim // block).view(block, dim)
        self.by_relation = nn.Parameter(identity.flatten() + 0.1 * torch.randn(num_relations, block * dim))

    def messages(self, neighbour: Tensor, relation: Tensor) -> Tensor:
        """Return W_r h_u for every edge. (edges, dim)"""
        edges, dim = neighbour.shape
        shape = (edges, self.block, dim // self.block, self.block)
        # All blocks at once: column by column, each multiplied by one entry of its block's input.
        columns = self.by_relation.index_select(0, relation).view(shape)
        entries = neighbour.view(edges, dim // self.block, self.block).transpose(1, 2)[..., None]
        messages = torch.zeros_like(columns[:, 0])
        for place in range(self.block):
            messages = torch.addcmul(messages, columns[:, place], entries[:, place])
        return messages.reshape(edges, dim)
