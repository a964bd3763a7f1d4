"""Optimisers that do not load the compiler of PyTorch.

The optimisers of PyTorch import ``torch._dynamo`` to exclude some of their methods from compilation. titer compiles
nothing, and the import takes about two seconds in each process that trains. The classes have names of their own, since
other libraries find all optimisers by name.
"""

from inspect import unwrap

import torch


class _EagerOptimiser(torch.optim.Optimizer):
    """An optimiser whose methods are called directly."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)


class EagerAdam(_EagerOptimiser, torch.optim.Adam):
    """``torch.optim.Adam``."""

    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class EagerAdamW(_EagerOptimiser, torch.optim.AdamW):
    """``torch.optim.AdamW``."""

    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))


class EagerLBFGS(_EagerOptimiser, torch.optim.LBFGS):
    """``torch.optim.LBFGS``."""
