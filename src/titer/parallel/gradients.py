"""The sum of gradients over all processes.

The gradient of a large table of entities has few rows that are not zero, those of the entities of a batch. Only these
rows are sent, as long as that is less than the table.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from titer.parallel.processes import gather, size, sum_over_processes

MIN_TABLE_ROWS = 16_384
"""Tables with fewer rows are sent whole: looking for their rows would take longer."""
NONE = -1


def sum_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Replace the gradients of all processes by their sum.

    Args:
        parameters: The parameters, in the same order in every process. One that has a gradient in any of the
            processes has one in all of them afterwards. A gradient is sparse in all processes or in none; sparse ones
            must be coalesced, and so are their sums.
    """
    if size() == 1:
        return
    rows = [_rows(parameter) for parameter in parameters]
    own = [NONE if parameter.grad is None else len(found) for parameter, found in zip(parameters, rows, strict=True)]
    is_sparse = [parameter.grad is not None and parameter.grad.is_sparse for parameter in parameters]
    exchanged = torch.stack(gather(torch.tensor([own, is_sparse])))  # (processes, 2, parameters)
    dense: dict[torch.dtype, list[Tensor]] = {}
    for i, (parameter, found) in enumerate(zip(parameters, rows, strict=True)):
        counts = exchanged[:, 0, i].tolist()
        count = max(counts)
        if count == NONE:
            continue
        if exchanged[:, 1, i].any():
            _sum_sparse(parameter, found, [max(each, 0) for each in counts])
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        if _is_table(parameter) and _is_less(parameter, count):
            _sum_rows(parameter.grad, found, count)
        else:
            dense.setdefault(parameter.dtype, []).append(parameter.grad)
    for gradients in dense.values():
        _sum_whole(gradients)


def _is_table(parameter: Tensor) -> bool:
    return parameter.dim() == 2 and len(parameter) >= MIN_TABLE_ROWS


def _rows(parameter: nn.Parameter) -> Tensor:
    """Return the rows of a table that have a gradient; for anything but a table, none. (rows,)"""
    if parameter.grad is not None and parameter.grad.is_sparse:
        return parameter.grad.indices()[0]
    if parameter.grad is None or not _is_table(parameter):
        return torch.empty(0, dtype=torch.int64, device=parameter.device)
    return parameter.grad.any(dim=1).nonzero()[:, 0]


def _is_less(table: Tensor, count: int) -> bool:
    """Return whether the rows of all processes, each with its number, are less to send than the table."""
    return size() * count * (table.shape[1] + 2) < table.numel()


def _sum_rows(gradient: Tensor, rows: Tensor, count: int) -> None:
    """Sum the rows that the processes have, each at most ``count`` of them."""
    # All processes send the same number of rows: the missing ones are zeros for the first row.
    numbers = rows.new_zeros(count)
    numbers[: len(rows)] = rows
    values = gradient.new_zeros(count, gradient.shape[1])
    values[: len(rows)] = gradient[rows]
    gradient[rows] = 0
    for number, value in zip(gather(numbers), gather(values), strict=True):
        gradient.index_add_(0, number, value)


def _sum_sparse(parameter: nn.Parameter, rows: Tensor, counts: list[int]) -> None:
    """Sum sparse gradients, given the number of rows that each process has."""
    numbers = rows.new_zeros(max(counts))
    numbers[: len(rows)] = rows
    values = parameter.detach().new_zeros(len(numbers), *parameter.shape[1:])
    if parameter.grad is not None:
        values[: len(rows)] = parameter.grad.values()
    sent = zip(gather(numbers), gather(values), counts, strict=True)
    every = [(number[:count], value[:count]) for number, value, count in sent]
    numbers, values = (torch.cat(column) for column in zip(*every, strict=True))
    # Without the argument, torch warns that it does not check whether the rows exist.
    summed = torch.sparse_coo_tensor(numbers[None], values, parameter.shape, check_invariants=False)
    parameter.grad = summed.coalesce()


def _sum_whole(gradients: list[Tensor]) -> None:
    """Sum gradients of one data type in a single exchange."""
    flat = sum_over_processes(torch.cat([gradient.reshape(-1) for gradient in gradients]))
    for gradient, summed in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        gradient.copy_(summed.view_as(gradient))
