"""Train boosted trees: each lowers the error that those before it have left, as far as a part of the examples tells."""

import torch
from torch import Tensor

from titer.events.counts import MEAN_RATE, SCALE
from titer.events.trees import DEPTH, NUM_LEAVES, BoostedTrees

NUM_BINS = 64
"""Values of an input that are distinguished: thresholds are quantiles."""
LEARNING_RATE = 0.08
SHARE_OF_INPUTS = 0.2
"""Inputs that a tree may read, drawn at random."""
SHARE_OF_ROWS, MIN_ROWS = 0.3, 30_000
"""Examples that a tree is built from, drawn at random; all if there are fewer."""
RIDGE = 10.0
"""Examples, counted by the curvature of their error, that pull the value of a leaf towards 0."""
MIN_CURVATURE = 1.0
"""Smallest part of a split."""
QUANTILE_ROWS = 50_000
"""Examples that the quantiles are taken from."""


@torch.no_grad()
def fit_trees(
    trees: BoostedTrees, features: Tensor, targets: Tensor, happened: Tensor, weight: Tensor, seed: int
) -> None:
    """Train trees by gradient boosting with Newton steps on the logistic loss.

    Args:
        trees: The trees, which are overwritten.
        features: Features of facts. Shape (examples, NUM_ORIGIN_FEATURES).
        targets: Features of the first forecast step. Shape (examples, NUM_TARGET_FEATURES).
        happened: Whether each fact happened in it.
        weight: The weight of each example.
        seed: Seed of what is drawn.
    """
    number = len(happened)
    if number == 0:
        return
    generator = torch.Generator().manual_seed(seed)

    def drawn(share: Tensor) -> Tensor:
        return share.to(features.device)

    inputs = torch.cat([features, targets], dim=1)
    chosen = drawn(torch.randperm(number, generator=generator)[:QUANTILE_ROWS])
    steps = torch.linspace(0, 1, NUM_BINS + 1, device=inputs.device)[1:-1]
    bounds = torch.quantile(inputs[chosen], steps, dim=0).T.contiguous()  # (inputs, NUM_BINS - 1)
    bins = torch.searchsorted(bounds, inputs.T.contiguous()).to(torch.uint8)  # (inputs, examples)
    score = SCALE * features[:, MEAN_RATE]
    num_inputs = max(1, int(SHARE_OF_INPUTS * len(bins)))
    num_rows = min(number, max(int(SHARE_OF_ROWS * number), MIN_ROWS))
    every = torch.arange(number, device=inputs.device)
    for tree in range(len(trees.value)):
        read = drawn(torch.randperm(len(bins), generator=generator)[:num_inputs])
        rows = drawn(torch.randperm(number, generator=generator)[:num_rows])
        probability = torch.sigmoid(score[rows])
        gradient = (probability - happened[rows].float()) * weight[rows]
        curvature = probability * (1 - probability) * weight[rows]
        place, split, value = _grow(bins[read][:, rows].long(), gradient, curvature)
        feature = read[place]
        padded = torch.cat([bounds, bounds.new_full((len(bounds), 1), torch.inf)], dim=1)
        trees.feature[tree], trees.threshold[tree], trees.value[tree] = feature, padded[feature, split], value
        node = torch.zeros_like(every)
        for level in range(DEPTH):
            at = node + (2**level - 1)
            node = 2 * node + (bins[feature[at], every] > split[at])
        score = score + value[node]


def _grow(bins: Tensor, gradient: Tensor, curvature: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return a tree: the inputs of its nodes, the bins after which they split, and the values of its leaves.

    Args:
        bins: The bin of each input of each example. Shape (inputs, examples).
        gradient: The derivative of the error of each example by its score.
        curvature: The second derivative.
    """
    num_inputs = len(bins)
    place = bins + NUM_BINS * torch.arange(num_inputs, device=bins.device)[:, None]
    terms = torch.stack([gradient, curvature])
    node = torch.zeros_like(bins[0])
    inputs, splits = list[Tensor](), list[Tensor]()
    for level in range(DEPTH):
        number = 2**level
        cell = (place + node * (num_inputs * NUM_BINS)).view(-1)
        sums = terms.new_zeros(2, number * num_inputs * NUM_BINS)
        for summed, term in zip(sums, terms, strict=True):
            summed.scatter_add_(0, cell, term.repeat(num_inputs))
        left = sums.view(2, number, num_inputs, NUM_BINS).cumsum(dim=-1)
        total, left = left[..., -1:], left[..., :-1]
        right = total - left
        gain = _gain(left) + _gain(right) - _gain(total)
        gain = torch.where((left[1] >= MIN_CURVATURE) & (right[1] >= MIN_CURVATURE), gain, 0.0)
        best, at = gain.view(number, -1).max(dim=1)
        inputs.append(at // (NUM_BINS - 1))
        splits.append(torch.where(best > 0, at % (NUM_BINS - 1), NUM_BINS - 1))  # nothing is above the last bin
        node = 2 * node + (bins.gather(0, inputs[-1][node][None])[0] > splits[-1][node])
    slope, bend = (term.new_zeros(NUM_LEAVES).scatter_add_(0, node, term) for term in terms)
    return torch.cat(inputs), torch.cat(splits), -LEARNING_RATE * slope / (bend + RIDGE)


def _gain(sums: Tensor) -> Tensor:
    """Return how much the error falls when examples with these sums of derivatives get a value of their own."""
    return sums[0].square() / (sums[1] + RIDGE)
