import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.graph.queries import Queries


@given(
    times=st.lists(st.integers(-3, 5), max_size=40), size=st.integers(1, 12), max_steps=st.none() | st.integers(1, 3)
)
def test_batches_in_time_have_every_query_once_and_keep_time_steps_together(
    times: list[int], size: int, max_steps: int | None
):
    number = torch.arange(len(times))
    queries = Queries(number, number, torch.tensor(times, dtype=torch.int64))
    batches = list(queries.batches_in_time(size, max_steps))
    if max_steps is not None:
        assert all(len(set(batch.time.tolist())) <= max_steps for _, batch in batches)
    assert sorted(row for rows, _ in batches for row in rows.tolist()) == number.tolist()
    assert all(torch.equal(batch.subject, rows) for rows, batch in batches)
    assert all(1 <= len(rows) <= size for rows, _ in batches)
    order = [time for _, batch in batches for time in batch.time.tolist()]
    assert order == sorted(order)
    for time in set(times):
        parts = [batch for _, batch in batches if time in batch.time.tolist()]
        assert len(parts) == -(-times.count(time) // size)


def test_copies_of_a_query_follow_each_other():
    queries = Queries(torch.tensor([3, 4]), torch.tensor([0, 1]), torch.tensor([7, 8]))
    assert torch.equal(queries.repeated(3).subject, torch.tensor([3, 3, 3, 4, 4, 4]))
    assert torch.equal(queries.repeated(3).relation, torch.tensor([0, 0, 0, 1, 1, 1]))
    assert torch.equal(queries.repeated(1).time, queries.time)
