"""Gradients between their computation and the update of the weights.

The gradient of a large table of entities is a sparse tensor with the rows of those that a batch reads.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def coalesce_gradients(parameters: Iterable[Tensor]) -> None:
    """Add up the rows of sparse gradients that occur several times."""
    for each in parameters:
        if each.grad is not None and each.grad.is_sparse:
            each.grad = each.grad.coalesce()


def clip_gradients(parameters: Iterable[Tensor], max_norm: float) -> None:
    """Scale all gradients such that their norm is at most ``max_norm``, as ``nn.utils.clip_grad_norm_`` does.

    Args:
        parameters: The parameters. Sparse gradients must be coalesced, which that function does not support.
        max_norm: The largest norm of all gradients together.
    """
    gradients = [each.grad for each in parameters if each.grad is not None]
    values = [each.values() if each.is_sparse else each for each in gradients]
    if not values:
        return
    scale = torch.clamp(max_norm / (nn.utils.get_total_norm(values) + 1e-6), max=1.0)
    # torch.nn.utils uses this function too; it has no public name.
    torch._foreach_mul_(values, scale)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
