import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.graph.ragged import largest_of_each, segment_softmax, spread

NUM_SEGMENTS = 4
SEGMENTED = st.lists(
    st.tuples(st.integers(0, NUM_SEGMENTS - 1), st.sampled_from([-1e30, -200.0, 0.0, 0.5, 1.0, 300.0]))
)


def columns(pairs: list[tuple[int, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    """The values, and the segment of each."""
    return torch.tensor([value for _, value in pairs]), torch.tensor([s for s, _ in pairs], dtype=torch.int64)


def test_ranges_are_concatenated():
    owner, position = spread(torch.tensor([5, 3, 9]), torch.tensor([7, 3, 10]))
    assert owner.tolist() == [0, 0, 2]
    assert position.tolist() == [5, 6, 9]


@given(SEGMENTED)
def test_a_segment_softmax_is_a_softmax_of_each_segment(pairs):
    values, segment = columns(pairs)
    found = segment_softmax(values, segment, NUM_SEGMENTS)
    for number in range(NUM_SEGMENTS):
        inside = segment == number
        torch.testing.assert_close(found[inside], values[inside].softmax(dim=0))


def test_the_gradient_of_a_segment_softmax_is_that_of_a_softmax():
    values = torch.randn(6, dtype=torch.float64, requires_grad=True)
    segment = torch.tensor([1, 0, 1, 1, 3, 0])
    assert torch.autograd.gradcheck(lambda values: segment_softmax(values, segment, NUM_SEGMENTS), values)


@given(SEGMENTED, st.integers(1, 4))
def test_the_largest_values_of_each_segment_come_first_and_ties_in_order(pairs, count: int):
    values, segment = columns(pairs)
    expected = [
        place
        for number in range(NUM_SEGMENTS)
        for place in sorted((i for i, (owner, _) in enumerate(pairs) if owner == number), key=lambda i: -pairs[i][1])[
            :count
        ]
    ]
    assert largest_of_each(values, segment, NUM_SEGMENTS, count).tolist() == expected


@pytest.mark.parametrize("count", [1, 3])
def test_empty_segments_have_no_largest_value(count: int):
    nothing = torch.empty(0)
    assert len(largest_of_each(nothing, nothing.long(), 0, count)) == 0
