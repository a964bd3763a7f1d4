"""The convolution of Conv-TransE (Shang et al., AAAI 2019)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.parallel.statistics import BatchNorm

KERNEL_SIZE = 3


class ConvTrans(nn.Module):
    r"""A convolution over a few stacked vectors, followed by a linear map to one vector of the same size.

    Formula:
        $$\mathrm{ConvTrans}(x_1, \dots, x_n) = \mathrm{ReLU}\big(W \, \mathrm{vec}(\mathrm{ReLU}([x_1; \dots; x_n] *
        \omega)) + b\big)$$

        The kernels \(\omega\) cover three neighbouring entries of all vectors. The stacked vectors, the result of the
        convolution, and the result of the linear map are each normalised over the batch.
    """

    def __init__(self, num_inputs: int, dim: int, channels: int, dropout: float):
        super().__init__()
        self.input_norm = BatchNorm(num_inputs)
        self.convolution = nn.Conv1d(num_inputs, channels, KERNEL_SIZE, padding=KERNEL_SIZE // 2)
        self.channel_norm = BatchNorm(channels)
        self.linear = nn.Linear(channels * dim, dim)
        self.output_norm = BatchNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the vector whose dot product with a candidate is its score. (queries, dim)"""
        x = self.dropout(self.input_norm(torch.stack(inputs, dim=1)))
        x = self.dropout(functional.relu(self.channel_norm(self.convolution(x))))
        x = self.dropout(self.linear(x.flatten(1)))
        return functional.relu(self.output_norm(x))
