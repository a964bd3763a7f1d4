"""Boosted trees: intensities that err in other ways than those of the networks, so that both together err less."""

import torch
from torch import Tensor, nn

from titer.events.counts import MEAN_RATE, SCALE
from titer.events.index import NUM_ORIGIN_FEATURES, NUM_TARGET_FEATURES

DEPTH = 6
NUM_NODES, NUM_LEAVES = 2**DEPTH - 1, 2**DEPTH
NUM_INPUTS = NUM_ORIGIN_FEATURES + NUM_TARGET_FEATURES
CHUNK = 1 << 12
"""Rows that all trees read at once; these inputs stay in the cache of a processor."""


class BoostedTrees(nn.Module):
    r"""Log intensities of facts one step ahead, as a sum of trees.

    With the mean \(\bar{\lambda}\) of the rates of a fact at several horizons and its features x, \(\log \lambda =
    \log \bar{\lambda} + \sum_k v_k(x)\), where \(v_k\) is the value of the leaf that x reaches in tree k. All trees are
    complete: the nodes of a level lie beside each other, and what does not split sends all to the left.
    """

    feature: Tensor  # (trees, NUM_NODES) the input that a node reads
    threshold: Tensor  # (trees, NUM_NODES) inputs above it go to the right
    value: Tensor  # (trees, NUM_LEAVES)

    def __init__(self, number: int):
        """Create trees that leave the mean rate as it is.

        Args:
            number: How many trees.
        """
        super().__init__()
        self.register_buffer("feature", torch.zeros(number, NUM_NODES, dtype=torch.int64))
        self.register_buffer("threshold", torch.full((number, NUM_NODES), torch.inf))
        self.register_buffer("value", torch.zeros(number, NUM_LEAVES))

    @property
    def is_valid(self) -> bool:
        """Whether all nodes read an input that exists; a file may hold anything."""
        return bool(((self.feature >= 0) & (self.feature < NUM_INPUTS)).all() and torch.isfinite(self.value).all())

    def forward(self, features: Tensor, targets: Tensor) -> Tensor:
        """Return log intensities from the features of facts and of the first forecast step. (facts,)"""
        inputs = torch.cat([features, targets], dim=1)
        parts = [self._sum(part.T.contiguous()) for part in inputs.split(CHUNK)]
        return SCALE * features[:, MEAN_RATE] + (torch.cat(parts) if parts else 0)

    def _sum(self, inputs: Tensor) -> Tensor:
        """Return the sum of the values of all trees. ``inputs`` has a row for each input."""
        if len(self.value) == 0:
            return torch.zeros_like(inputs[0])
        row = torch.arange(inputs.shape[1], device=inputs.device)
        node = torch.zeros(len(self.value), len(row), dtype=torch.int64, device=inputs.device)
        for level in range(DEPTH):
            place = node + (2**level - 1)
            read = inputs.view(-1)[self.feature.gather(1, place) * len(row) + row]
            node = 2 * node + (read > self.threshold.gather(1, place))
        return self.value.gather(1, node).sum(dim=0)
