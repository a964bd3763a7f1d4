"""The parts of the work that each process does."""

from collections.abc import Sequence
from typing import TypeVar

from torch import Tensor

from titer.parallel.processes import rank, size

Item = TypeVar("Item")


def part_of_batch(rows: Tensor) -> tuple[Tensor, float]:
    """Return this process's part of a batch, and its share of the loss.

    The shares of all processes sum to 1, so the sum of their gradients is the gradient of the whole batch.

    Args:
        rows: The rows of the batch, the same in every process.

    Returns:
        The rows of the part, and the share. A batch with fewer rows than there are processes is computed by all of
        them, since a process without rows would not take part in the exchanges of a model.
    """
    if size() == 1:
        return rows, 1.0
    if len(rows) < size():
        return rows, 1 / size()
    part = rows.tensor_split(size())[rank()]
    return part, len(part) / len(rows)


def part_of_batches(batches: Sequence[Item]) -> Sequence[Item]:
    """Return this process's part of the batches of an evaluation.

    Args:
        batches: All batches, in order of time. A part is contiguous, since models keep results from one time step to
            the next.
    """
    start, end = (len(batches) * number // size() for number in (rank(), rank() + 1))
    return batches[start:end]
