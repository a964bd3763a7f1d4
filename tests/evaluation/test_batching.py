"""Tests for the size of scoring batches."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from models.small_path_mixture import random_model
from titer.data.dataset import Dataset
from titer.evaluation.batching import LIMITS, MAX_CANDIDATES, MAX_STATES, default_batch_size, scoring_batches
from titer.evaluation.evaluate import evaluate_task
from titer.evaluation.task import EvaluationTask
from titer.forecasting.forecaster import Forecaster
from titer.forecasting.question import Question
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.path_mixture.model import PathMixture
from titer.models.scores import Scores
from titer.training.temperature import fit_temperature


def described(device: str, num_entities: int, *, keeps_entity_states: bool = True) -> Model:
    """Return what the size depends on, for a device that this machine need not have."""
    vocabulary = SimpleNamespace(num_entities=num_entities)
    sizes: Any = PathMixture.scoring_batch_sizes
    found = SimpleNamespace(
        device=torch.device(device),
        vocabulary=vocabulary,
        scoring_batch_sizes=sizes,
        keeps_entity_states=keeps_entity_states,
    )
    return cast(Model, found)


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
    # A model that keeps nothing for each time step would only be slower.
    others = described(device, num_entities, keeps_entity_states=False)
    assert len(scoring_batches(others, Queries(time, time, time))) == -(-len(time) // default_batch_size(others))


@pytest.fixture
def scored_steps(monkeypatch: pytest.MonkeyPatch, world_data: Dataset) -> list[int]:
    """The number of time steps of each batch that a path mixture scores, where one is as many as states fit."""
    seen: list[int] = []
    scores = PathMixture.scores

    def spy(self: PathMixture, queries: Queries, history: History) -> Scores:
        seen.append(len(torch.unique(queries.time)))
        return scores(self, queries, history)

    monkeypatch.setattr(PathMixture, "scores", spy)
    monkeypatch.setitem(MAX_STATES, "cpu", world_data.vocabulary.num_entities)
    return seen


def test_evaluation_and_temperature_score_few_time_steps_of_many_entities(world_data: Dataset, scored_steps: list[int]):
    model = random_model(world_data.vocabulary, world_data.train).eval()
    task = EvaluationTask(world_data, "valid", max_queries=30)
    evaluate_task(model, task)
    assert sum(scored_steps) == len(scored_steps) == len(torch.unique(task.queries.time)) > 1
    scored_steps.clear()
    fit_temperature(model, world_data, validation=task)
    assert sum(scored_steps) == len(scored_steps) > 1


def test_many_forecasts_score_few_time_steps_of_many_entities(world_data: Dataset, scored_steps: list[int]):
    model = random_model(world_data.vocabulary, world_data.train).eval()
    asked = [Question("Aldoria", "hold talks with", None, f"2023-06-{day:02}") for day in (3, 9, 3, 21)]
    found = list(Forecaster(model, world_data).ask_many(asked))
    assert [str(each.question)[-10:] for each in found] == [each.at for each in asked]
    assert scored_steps == [1, 1, 1]
