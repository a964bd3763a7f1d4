"""Layers that pass messages along the edges of a graph, in plain torch.

Everywhere ``target`` is the row that each message goes to. Rows are gathered with ``index_select`` rather than by
indexing: its gradient is one ``index_add_``.
"""

import torch
from torch import Tensor, nn


def sum_over(target: Tensor, messages: Tensor, size: int) -> Tensor:
    """The sum of the messages to each row. (size, dim)"""
    return messages.new_zeros(size, messages.shape[1]).index_add_(0, target, messages)


def mean_over(target: Tensor, messages: Tensor, size: int) -> Tensor:
    """The mean of the messages to each row, zero where there are none. (size, dim)"""
    count = torch.bincount(target, minlength=size).clamp(min=1)
    return sum_over(target, messages, size) / count[:, None]


def max_over(target: Tensor, messages: Tensor, size: int) -> Tensor:
    """The largest of the messages to each row, in each dimension; zero where there are none. (size, dim)"""
    place = target[:, None].expand_as(messages)
    empty = messages.new_zeros(size, messages.shape[1])
    return empty.scatter_reduce(0, place, messages, reduce="amax", include_self=False)


class RelationalConvolution(nn.Module):
    r"""One layer of R-GCN (Schlichtkrull et al., ESWC 2018), without the non-linearity.

    .. math::
        h_v' = W_0 h_v + \frac{1}{|N_v|} \sum_{(r, u) \in N_v} W_r h_u

    Each :math:`W_r` is block-diagonal, so that an edge costs dim x block multiplications.
    """

    def __init__(self, num_relations: int, dim: int, block: int):
        super().__init__()
        self.block = block
        self.own = nn.Linear(dim, dim)
        self.by_relation = nn.Parameter(torch.empty(num_relations, block * dim))
        nn.init.uniform_(self.by_relation, -(block**-0.5), block**-0.5)

    def forward(self, own: Tensor, neighbour: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """New states of nodes, from their ``own`` and, for each edge, that of its ``neighbour``. (nodes, dim)"""
        edges, dim = neighbour.shape
        # A product with all blocks at once: column by column, each times one entry of its block's input.
        columns = self.by_relation.index_select(0, relation).view(edges, self.block, -1, self.block)
        entries = neighbour.view(edges, -1, self.block).transpose(1, 2)[..., None]
        messages = torch.zeros_like(columns[:, 0])
        for place in range(self.block):
            messages = torch.addcmul(messages, columns[:, place], entries[:, place])
        return self.own(own) + mean_over(target, messages.reshape(edges, dim), len(own))
