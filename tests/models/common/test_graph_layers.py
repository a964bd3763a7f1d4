import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from titer.models.common.graph_layers import RelationalConvolution, max_over, mean_over, sum_over


@pytest.mark.slow
@given(targets=st.lists(st.integers(0, 4), max_size=12), seed=st.integers(0, 9))
def test_messages_are_combined_by_their_target(targets: list[int], seed: int):
    messages = torch.randn(len(targets), 3, generator=torch.Generator().manual_seed(seed))
    target = torch.tensor(targets, dtype=torch.int64)
    for node in range(5):
        received = messages[target == node]
        expected = [received.sum(0), received.mean(0), received.amax(0)] if len(received) else [torch.zeros(3)] * 3
        for combine, value in zip((sum_over, mean_over, max_over), expected, strict=True):
            torch.testing.assert_close(combine(target, messages, 5)[node], value)


@given(block=st.sampled_from([1, 2, 3, 6]), seed=st.integers(0, 9))
def test_a_relational_convolution_has_a_block_diagonal_matrix_for_each_relation(block: int, seed: int):
    torch.manual_seed(seed)
    layer = RelationalConvolution(num_relations=3, dim=6, block=block)
    neighbour, relation = torch.randn(5, 6), torch.tensor([0, 1, 2, 2, 1])
    found = layer.messages(neighbour, relation)
    for r, state, message in zip(relation.tolist(), neighbour, found, strict=True):
        # Stored column by column: (column within its block, block, row within its block).
        blocks = layer.by_relation[r].view(block, 6 // block, block).permute(1, 2, 0)
        matrix = torch.block_diag(*blocks)
        torch.testing.assert_close(message, matrix @ state)
        assert torch.dist(matrix, torch.eye(6)) < 3
