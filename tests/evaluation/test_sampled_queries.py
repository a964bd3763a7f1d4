"""Samples of the queries of a split."""

from itertools import accumulate

import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.data.dataset import Dataset
from titer.evaluation.task import EvaluationTask, sampled_rows


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    max_queries=st.integers(1, 30),
    min_steps=st.integers(1, 12),
)
def test_a_sample_is_taken_from_no_more_time_steps_than_asked_for_and_needed(
    counts: list[int], max_queries: int, min_steps: int
):
    time = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    rows = sampled_rows(time, max_queries, min_steps)
    assert torch.equal(rows, sampled_rows(time, max_queries, min_steps))
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert len(rows) == min(max_queries, len(time))
    if len(time) > max_queries:
        needed = 1 + sum(total < max_queries for total in accumulate(sorted(counts)))
        assert len(time[rows].unique()) <= max(min_steps, needed)


def test_a_sample_has_as_many_time_steps_as_asked_for():
    time = torch.arange(100).repeat_interleave(100)
    assert len(time[sampled_rows(time, 1000)].unique()) == 100
    assert len(time[sampled_rows(time, 1000, 30)].unique()) == 30


def test_a_task_asks_a_sample_of_some_time_steps(world_data: Dataset):
    task = EvaluationTask(world_data, "valid", max_queries=40, min_steps=5)
    assert len(task.queries) == 40
    assert len(task.queries.time.unique()) == 5
    assert task.num_queries == 2 * len(world_data.valid)
