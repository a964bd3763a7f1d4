"""Optimisers that do not load the compiler of PyTorch.

The optimisers of PyTorch import ``torch._dynamo`` to exclude some of their methods from compilation. titer compiles
nothing, and the import takes about two seconds in each process that trains. The classes have names of their own, since
other libraries find all optimisers by name.
"""

import sys
from collections.abc import Sequence
from inspect import unwrap
from itertools import chain
from typing import Any

import torch
from torch import Tensor

MIN_PIECE = 4096
"""Number of weights that are updated together at least."""


class _EagerOptimiser(torch.optim.Optimizer):
    """An optimiser whose methods are called directly."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)


class EagerAdam(_EagerOptimiser, torch.optim.Adam):
    """``torch.optim.Adam`` with fused kernels.

    PyTorch updates 65,536 weights with one multiprocessor of a GPU, so a small model would leave most of them without
    work. Here, large tensors are updated in as many pieces as there are multiprocessors.

    Of a table with a sparse gradient, only the rows with a gradient are updated, with their means and mean squares, as
    by ``torch.optim.SparseAdam``; weight decay affects only these rows too. So the cost of a step does not depend on
    the size of the table. Sparse gradients must be coalesced.
    """

    # Narrower than the base class: no training loop passes a closure.
    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update all parameters that have a gradient."""
        assert closure is None
        for group in self.param_groups:
            params = [each for each in group["params"] if each.grad is not None]
            self._update_whole({**group, "params": [each for each in params if not each.grad.is_sparse]})
            for table in params:
                if table.grad.is_sparse:
                    self._update_rows(group, table)

    def _update_whole(self, group: dict[str, Any]) -> None:
        # Weights, gradients, means, mean squares, the largest of these (not used), and numbers of steps.
        lists = [list[Tensor]() for _ in range(6)]
        self._init_group(group, *lists)
        weights, steps = lists[0], lists[-1]
        if not weights:
            return
        # torch.optim uses this function too. It is private, and its stub is incomplete.
        torch._foreach_add_(steps, 1)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]
        size = piece_size(weights)
        divided = [[_pieces(each, size) for each in column] for column in lists[:4]]
        repeated = [step for step, parts in zip(steps, divided[0], strict=True) for _ in parts]
        _update(group, [list(chain.from_iterable(column)) for column in divided], repeated)

    def _update_rows(self, group: dict[str, Any], table: Tensor) -> None:
        assert table.grad is not None
        rows, gradient = table.grad.indices()[0], table.grad.values()
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros((), device=table.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(table), torch.zeros_like(table)
        state["step"] += 1
        whole = table, state["exp_avg"], state["exp_avg_sq"]
        weights, *moments = (each.index_select(0, rows) for each in whole)
        _update(group, [[weights], [gradient], *([each] for each in moments)], [state["step"]])
        for each, updated in zip(whole, (weights, *moments), strict=True):
            each.index_copy_(0, rows, updated)


def _update(group: dict[str, Any], columns: list[list[Tensor]], steps: list[Tensor]) -> None:
    """Update lists of weights in place, given those of their gradients, means and mean squares."""
    beta1, beta2 = group["betas"]
    # torch.optim uses this function too. It is private, and its stub is incomplete.
    torch._fused_adam_(  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage, reportCallIssue]
        *columns, [], steps, lr=group["lr"], beta1=beta1, beta2=beta2, weight_decay=group["weight_decay"],
        eps=group["eps"], amsgrad=False, maximize=False,
    )  # fmt: skip


def piece_size(weights: Sequence[Tensor]) -> int:
    """Return how many weights to update together: all of a tensor on a CPU, where nothing is gained by less."""
    if not weights[0].is_cuda:
        return sys.maxsize
    num_processors = torch.cuda.get_device_properties(weights[0].device).multi_processor_count
    return max(sum(each.numel() for each in weights) // num_processors, MIN_PIECE)


def _pieces(tensor: Tensor, size: int) -> Sequence[Tensor]:
    return (tensor,) if tensor.numel() <= size else tensor.reshape(-1).split(size)


class EagerAdamW(_EagerOptimiser, torch.optim.AdamW):
    """``torch.optim.AdamW``."""

    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class EagerLBFGS(_EagerOptimiser, torch.optim.LBFGS):
    """``torch.optim.LBFGS``."""
