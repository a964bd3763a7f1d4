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
        none, width = len(entities), len(entities) + 1
        column = torch.full((num_entities + 1,), none, device=device)
        column[entities] = torch.arange(len(entities), device=device)
        keys = [_keys(each, width, column) for each in ends]

        found = torch.zeros(num_queries, width, dtype=torch.bool, device=device)
        for key in keys:
            found.view(-1).index_fill_(0, key.view(-1), True)
        found[:, none] = False
        key = found.view(-1).nonzero()[:, 0]
        # Short integers: this table is read at random.
        slot = torch.empty(num_queries, width, dtype=torch.int32, device=device)
        slot.view(-1)[key] = torch.arange(1, len(key) + 1, dtype=torch.int32, device=device)
        slot[:, none] = 0
        self.slots = [slot.view(-1).index_select(0, each.view(-1)).view(each.shape) for each in keys]
        self.row = key // width
        self.answer = entities.index_select(0, key - self.row * width)

    def __len__(self) -> int:
        return len(self.row)


class ReachedAmong:
    """The distinct pairs (query, answer) of some paths that are among given pairs.

    Other pairs are no answers. Memory grows with the number of pairs, not with the distinct answers of the batch.

    Attributes:
        row: The query of each pair, ascending. Shape (pairs,).
        answer: The answer of each pair, ascending for a query. Shape (pairs,).
        slots: As in ``Reached``, and 0 also for answers that are not among the given pairs.
        of_given: The pair of each given one, counted from 1; 0 if no path leads there. Shape (given,).
    """

    def __init__(self, num_entities: int, ends: Sequence[Ends], given: Ends):
        width = num_entities + 1  # the padding entity is no answer
        wanted, place = torch.unique(_keys(given, width), return_inverse=True)
        keys = [_keys(each, width) for each in ends]
        found = [torch.searchsorted(wanted, key).clamp_(max=max(len(wanted) - 1, 0)) for key in keys]
        is_wanted = [
            wanted.index_select(0, at.view(-1)).view(at.shape) == key for at, key in zip(found, keys, strict=True)
        ]
        # One position more takes what is not wanted.
        is_reached = torch.zeros(len(wanted) + 1, dtype=torch.bool, device=wanted.device)
        for at, hit in zip(found, is_wanted, strict=True):
            is_reached.index_fill_(0, at.masked_fill_(~hit, len(wanted)).view(-1), True)
        is_reached[-1] = False
        pair = is_reached.nonzero()[:, 0]
        slot = torch.zeros(len(wanted) + 1, dtype=torch.int32, device=wanted.device)
        slot[pair] = torch.arange(1, len(pair) + 1, dtype=torch.int32, device=wanted.device)
        self.slots = [slot.index_select(0, at.view(-1)).view(at.shape) for at in found]
        self.of_given = slot.index_select(0, place)
        key = wanted.index_select(0, pair)
        self.row = key // width
        self.answer = key - self.row * width


def _keys(ends: Ends, width: int, column: Tensor | None = None) -> Tensor:
    """Return one number for each end: its query times a width, plus the answer or the column of the answer.

    What is no answer has the last column.
    """
    of_answer = (
        ends.answer if column is None else column.index_select(0, ends.answer.reshape(-1)).view(ends.answer.shape)
    )
    start = ends.row * width
    if ends.group is None:
        return start + of_answer
    of_answer = of_answer.index_select(0, ends.group)
    if ends.except_for is not None:
        excluded = ends.except_for if column is None else column.index_select(0, ends.except_for)
        of_answer.masked_fill_(of_answer == excluded[:, None], width - 1)
    return of_answer.add_(start[:, None])
