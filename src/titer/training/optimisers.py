"""Optimisers that do not load the compiler of PyTorch.

The optimisers of PyTorch import ``torch._dynamo`` to exclude some of their methods from compilation. titer compiles
nothing, and the import takes about two seconds in each process that trains.
"""

from inspect import unwrap

import torch


class _NotCompiled(torch.optim.Optimizer):
    """An optimiser whose methods are called directly."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)


class Adam(_NotCompiled, torch.optim.Adam):
    """``torch.optim.Adam``."""

    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class AdamW(_NotCompiled, torch.optim.AdamW):
    """``torch.optim.AdamW``."""

    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class LBFGS(_NotCompiled, torch.optim.LBFGS):
    """``torch.optim.LBFGS``."""
