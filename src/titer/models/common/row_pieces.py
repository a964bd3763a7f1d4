"""Pieces of a matrix that fit into the cache of a CPU."""

from collections.abc import Iterator

from torch import Tensor

PIECE = 1 << 18
"""Numbers of a matrix that are processed together on a CPU: as many as fit into its cache."""


def row_pieces(matrix: Tensor) -> Iterator[slice]:
    """Yield the rows of a matrix: all at once on a GPU, as many as fit into the cache on a CPU."""
    size = max(1, PIECE // max(matrix.shape[1], 1)) if matrix.device.type == "cpu" else max(len(matrix), 1)
    for start in range(0, len(matrix), size):
        yield slice(start, min(start + size, len(matrix)))
