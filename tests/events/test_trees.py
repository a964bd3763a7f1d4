"""Boosted trees: what they compute, and what they can learn."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.errors import RunError
from titer.events.config import EventConfig
from titer.events.counts import MEAN_RATE, SCALE
from titer.events.fit_trees import fit_trees
from titer.events.index import NUM_ORIGIN_FEATURES
from titer.events.model import EventModel
from titer.events.storage import load_events, save_events
from titer.events.trees import DEPTH, NUM_INPUTS, NUM_LEAVES, NUM_NODES, BoostedTrees


def examples(number: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    inputs = torch.randn(number, NUM_INPUTS, generator=torch.Generator().manual_seed(seed))
    inputs[:, MEAN_RATE] = 0  # a probability of a half before anything is learned
    return inputs[:, :NUM_ORIGIN_FEATURES], inputs[:, NUM_ORIGIN_FEATURES:]


def log_loss(trees: BoostedTrees, features: Tensor, targets: Tensor, happened: Tensor) -> float:
    return float(torch.nn.functional.binary_cross_entropy_with_logits(trees(features, targets), happened.float()))


def test_the_output_is_the_mean_rate_and_the_values_of_the_leaves_that_are_reached():
    generator = torch.Generator().manual_seed(1)
    trees = BoostedTrees(4)
    trees.feature.copy_(torch.randint(NUM_INPUTS, (4, NUM_NODES), generator=generator))
    trees.threshold.copy_(torch.randn(4, NUM_NODES, generator=generator))
    trees.value.copy_(torch.randn(4, NUM_LEAVES, generator=generator))
    features, targets = examples(50)
    features = features + 0.5
    inputs = torch.cat([features, targets], dim=1)

    def walk(tree: int, row: Tensor) -> float:
        node = 0
        for _ in range(DEPTH):
            above = bool(row[trees.feature[tree, node]] > trees.threshold[tree, node])
            node = 2 * node + (2 if above else 1)
        return float(trees.value[tree, node - NUM_NODES])

    expected = [SCALE * float(row[MEAN_RATE]) + sum(walk(tree, row) for tree in range(4)) for row in inputs]
    assert trees(features, targets).tolist() == pytest.approx(expected, abs=1e-5)


def test_untrained_trees_and_no_facts_are_no_exception():
    features, targets = examples(3)
    for number in (0, 5):
        trees = BoostedTrees(number)
        assert torch.equal(trees(features, targets), SCALE * features[:, MEAN_RATE])
        assert len(trees(features[:0], targets[:0])) == 0
        fit_trees(trees, features[:0], targets[:0], torch.zeros(0).bool(), torch.zeros(0), seed=0)
        assert trees.is_valid


def test_they_learn_what_no_sum_over_inputs_can():
    # Whether a fact happens depends on two inputs together, one of the facts and one of the step.
    features, targets = examples(20_000)
    # Many inputs of a tree are noise; only some of the trees may read one of the two.
    features[:, 3::2] = (features[:, 2] > 0).float()[:, None]
    targets = (targets[:, :1] > 0).float().expand_as(targets).contiguous()
    happened = (features[:, 3] > 0.5) != (targets[:, 0] > 0.5)
    trees = BoostedTrees(60)
    before = log_loss(trees, features, targets, happened)
    fit_trees(trees, features, targets, happened, torch.ones(len(happened)), seed=0)
    assert log_loss(trees, features, targets, happened) < 0.5 * before


def test_the_weights_of_examples_count():
    features, targets = examples(4000)
    happened = torch.arange(4000) % 2 == 0
    trees = BoostedTrees(40)
    weight = torch.where(happened, 9.0, 1.0)
    fit_trees(trees, features, targets, happened, weight, seed=0)
    share = torch.sigmoid(trees(features, targets)).mean()
    assert 0.75 < float(share) < 0.95  # 9 of 10, less what pulls values towards 0


def test_the_same_seed_gives_the_same_trees():
    features, targets = examples(3000)
    happened, weight = features[:, 5] > 0.3, torch.ones(3000)
    fitted = [BoostedTrees(5) for _ in range(3)]
    for trees, seed in zip(fitted, (0, 0, 1), strict=True):
        fit_trees(trees, features, targets, happened, weight, seed)
    assert torch.equal(fitted[0].threshold, fitted[1].threshold)
    assert not torch.equal(fitted[0].threshold, fitted[2].threshold)


def test_a_file_whose_trees_read_inputs_that_do_not_exist_is_damaged(world_data: Dataset, tmp_path: Path):
    events = EventModel(world_data.vocabulary, world_data.axis, EventConfig(trees=2))
    path = tmp_path / "events.safetensors"
    save_events(events, path)
    load_events(path, world_data.vocabulary, world_data.axis)
    events.trees.feature[1, 3] = NUM_INPUTS
    save_events(events, path)
    with pytest.raises(RunError, match="damaged: its trees read inputs that do not exist"):
        load_events(path, world_data.vocabulary, world_data.axis)
