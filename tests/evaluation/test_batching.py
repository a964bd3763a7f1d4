"""Tests for the size of scoring batches."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.evaluation.batching import LIMITS, MAX_CANDIDATES, MAX_STATES, default_batch_size, scoring_batches
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.path_mixture.model import PathMixture


def described(device: str, num_entities: int) -> Model:
    """Return what the size depends on, for a device that this machine need not have."""
    vocabulary = SimpleNamespace(num_entities=num_entities)
    sizes: Any = PathMixture.scoring_batch_sizes
    return cast(Model, SimpleNamespace(device=torch.device(device), vocabulary=vocabulary, scoring_batch_sizes=sizes))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@given(num_entities=st.integers(0, 10_000_000), num_candidates=st.none() | st.integers(1, 10_000_000))
def test_a_batch_beyond_the_smallest_size_has_a_bounded_number_of_scores(
    device: str, num_entities: int, num_candidates: int | None
):
    size = default_batch_size(described(device, num_entities), num_candidates)
    min_size, max_scores = LIMITS[device]
    assert 1 <= size <= PathMixture.scoring_batch_sizes[device]
    if size > min_size:
        assert size * (num_entities if num_candidates is None else num_candidates) <= max_scores
        assert num_candidates is None or size * num_candidates <= MAX_CANDIDATES


def test_a_few_entities_are_scored_in_the_batches_that_the_model_asks_for():
    assert default_batch_size(described("cuda", 7_128)) == PathMixture.scoring_batch_sizes["cuda"]
    assert default_batch_size(described("cpu", 7_128)) == PathMixture.scoring_batch_sizes["cpu"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@given(num_entities=st.integers(1, 10_000_000), num_steps=st.integers(1, 60), each=st.integers(1, 9))
def test_a_batch_has_few_time_steps_of_many_entities(device: str, num_entities: int, num_steps: int, each: int):
    time = torch.arange(num_steps).repeat(each)
    batches = scoring_batches(described(device, num_entities), Queries(time, time, time))
    steps = [len(torch.unique(batch.time)) for _, batch in batches]
    assert sum(steps) == num_steps  # no time step is divided
    assert all(count == 1 or count * num_entities <= MAX_STATES[device] for count in steps)
    if num_steps * num_entities <= MAX_STATES[device]:
        assert len(batches) == 1
