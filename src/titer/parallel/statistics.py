"""Statistics of a batch whose parts are in several processes, for models that normalise over the batch."""

from typing import Any

import torch
from torch import Tensor, nn

from titer.parallel.processes import size, sum_over_processes


def batch_mean(values: Tensor) -> Tensor:
    """Return the mean of the values of all processes, without a gradient if there are several.

    Args:
        values: The values of this process's part of the batch.
    """
    if size() == 1:
        return values.mean()
    count, total = sum_over_processes(torch.stack([values.new_tensor(values.numel()), values.detach().sum()]))
    return total / count


def batch_deviation(values: Tensor) -> Tensor:
    """Return the standard deviation of the values of all processes, without a gradient if there are several.

    Args:
        values: The values of this process's part of the batch.
    """
    if size() == 1:
        return values.std()
    squares = (values.detach() - batch_mean(values)).square().sum()
    count, total = sum_over_processes(torch.stack([values.new_tensor(values.numel()), squares]))
    return (total / (count - 1)).sqrt()


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation over the whole batch, of which every process has a part. A single value is left as it is."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalise a batch. (queries, channels) or (queries, channels, positions)"""
        num_values = input.numel() // input.shape[1]
        if not self.training:
            return super().forward(input)
        if size() == 1:
            return super().forward(input) if num_values > 1 else input
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        dims = [0, *range(2, input.dim())]
        shape = [1, -1, *(1 for _ in dims[1:])]
        count = sum_over_processes(input.new_tensor(num_values))
        mean = _total(input.sum(dims)) / count
        centred = input - mean.view(shape)
        variance = _total(centred.square().sum(dims)) / count
        self.running_mean.lerp_(mean.detach(), self.momentum)
        self.running_var.lerp_(variance.detach() * count / (count - 1), self.momentum)
        self.num_batches_tracked += 1
        scale = self.weight / (variance + self.eps).sqrt()
        return centred * scale.view(shape) + self.bias.view(shape)


class _Total(torch.autograd.Function):
    """The sum of a tensor over all processes. Its gradient is the sum of their gradients."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return sum_over_processes(tensor.clone())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return sum_over_processes(gradients[0].clone())


def _total(tensor: Tensor) -> Tensor:
    total = _Total.apply(tensor)
    assert isinstance(total, Tensor)
    return total
