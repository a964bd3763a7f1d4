"""The answers that paths lead to: a list of pairs (query, answer) instead of a matrix of queries × entities."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Ends:
    """The query and the answer of each path of one kind.

    Either a list of paths, with one row and one answer for each; or groups of answers, padded, where the paths of one
    row are those of the group that ``group`` names. Padding, and the answer ``except_for`` of a row, are no answers.
    """

    row: Tensor  # (rows,) the query
    answer: Tensor  # (rows,), or (groups, size)
    group: Tensor | None = None  # (rows,)
    except_for: Tensor | None = None  # (rows,)


class Reached:
    """The distinct pairs (query, answer) of some paths, in the order of the queries.

    Finding the pairs takes a table of (queries, distinct answers of the batch), which is never larger than the
    vocabulary allows and usually much smaller.

    Attributes:
        row: The query of each pair, ascending. Shape (pairs,).
        answer: The answer of each pair. Shape (pairs,).
        slots: The pair of each path, counted from 1, for every kind in the order given; 0 for what is no answer. Shape
            (rows,) or, for groups, (rows, size).
    """

    def __init__(self, num_queries: int, num_entities: int, ends: Sequence[Ends]):
        device = ends[0].row.device
        seen = torch.zeros(num_entities + 1, dtype=torch.bool, device=device)
        for each in ends:
            seen.index_fill_(0, each.answer.reshape(-1), True)
        entities = seen[:-1].nonzero()[:, 0]
        # The last column of each query takes what is no answer: the padding entity, and ``except_for``.
        self._none = len(entities)
        self._width = len(entities) + 1
        self._column = torch.full((num_entities + 1,), self._none, device=device)
        self._column[entities] = torch.arange(len(entities), device=device)
        keys = [self._key(each) for each in ends]

        found = torch.zeros(num_queries, self._width, dtype=torch.bool, device=device)
        for key in keys:
            found.view(-1).index_fill_(0, key.view(-1), True)
        found[:, self._none] = False
        key = found.view(-1).nonzero()[:, 0]
        # Short integers: this table is read at random.
        slot = torch.empty(num_queries, self._width, dtype=torch.int32, device=device)
        slot.view(-1)[key] = torch.arange(1, len(key) + 1, dtype=torch.int32, device=device)
        slot[:, self._none] = 0
        self.slots = [slot.view(-1).index_select(0, each.view(-1)).view(each.shape) for each in keys]
        self.row = key // self._width
        self.answer = entities.index_select(0, key - self.row * self._width)

    def __len__(self) -> int:
        return len(self.row)

    def _key(self, ends: Ends) -> Tensor:
        column = self._column.index_select(0, ends.answer.reshape(-1)).view(ends.answer.shape)
        start = ends.row * self._width
        if ends.group is None:
            key = start + column
        else:
            column = column.index_select(0, ends.group)
            if ends.except_for is not None:
                returning = column == self._column.index_select(0, ends.except_for)[:, None]
                column.masked_fill_(returning, self._none)
            key = column.add_(start[:, None])
        return key
