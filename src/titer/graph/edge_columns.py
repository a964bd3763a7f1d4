"""The columns of a history: the sorted edges of all entities, in memory or piece by piece."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.sorted_edges import edge_pieces

COLUMNS = ("offsets", "key", "relation", "object")
"""The columns of a history."""
DTYPES = (np.int64, np.int32, np.int32)
"""Types of the columns of edges."""


def edge_columns(
    facts: Facts, vocabulary: Vocabulary, append: Callable[[str, NDArray[Any]], None]
) -> dict[str, int | None]:
    """Compute the columns of a history piece by piece.

    Args:
        facts: The facts, in any order.
        vocabulary: The vocabulary that their ids belong to.
        append: Called with the name of a column and its next rows.

    Returns:
        The times of the first and the last fact, ``first_time`` and ``last_time``.

    Raises:
        DataError: An id is not in the vocabulary, or the facts span too many time steps.
    """
    first_time = int(facts.time.min()) if len(facts) else 0
    offsets, pieces = edge_pieces(facts, vocabulary, first_time)
    append("offsets", offsets)
    padding = (np.array([value], dtype) for value, dtype in zip(padding_edge(vocabulary), DTYPES, strict=True))
    for piece in chain(pieces, [tuple(padding)]):
        for name, rows in zip(COLUMNS[1:], piece, strict=True):
            append(name, rows)
    return {"first_time": first_time, "last_time": int(facts.time.max()) if len(facts) else None}


def sorted_edges(facts: Facts, vocabulary: Vocabulary, first_time: int) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Return the offsets of all entities, and keys, relations and objects of all edges and of a padding edge."""
    offsets, pieces = edge_pieces(facts, vocabulary, first_time)
    columns = tuple(np.empty(2 * len(facts) + 1, dtype=dtype) for dtype in DTYPES)
    place = 0
    for piece in pieces:
        for column, part in zip(columns, piece, strict=True):
            column[place : place + len(part)] = part
        place += len(piece[0])
    for column, padding in zip(columns, padding_edge(vocabulary), strict=True):
        column[-1] = padding
    key, relation, object = (torch.from_numpy(column) for column in columns)
    return torch.from_numpy(offsets), (key, relation, object)


def padding_edge(vocabulary: Vocabulary) -> tuple[int, int, int]:
    """Return key, relation and object of the padding edge."""
    return torch.iinfo(torch.int64).max, vocabulary.relation_padding, vocabulary.entity_padding
