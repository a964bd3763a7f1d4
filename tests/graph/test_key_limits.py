"""Combinations of ids that no 64-bit key can number are refused, before anything wraps around."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.events.index import EventIndex
from titer.graph.filters import TrueAnswers
from titer.graph.history import History

FACTS = Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 3)])


@dataclass(frozen=True)
class Size:
    """As much of a vocabulary as an index needs; names of a billion entities would fill the memory."""

    num_entities: int
    num_relations: int

    @property
    def num_directed_relations(self) -> int:
        return 2 * self.num_relations

    def inverse(self, relation: torch.Tensor) -> torch.Tensor:
        return (relation + self.num_relations) % self.num_directed_relations


def history_with(size: Any) -> History:
    history = History(FACTS, Vocabulary.numbered(2, 1))
    history.vocabulary = size
    return history


def test_the_event_index_refuses_more_triples_than_it_can_number():
    assert len(EventIndex(history_with(Size(1 << 20, 1 << 18)), TimeAxis()).keys)
    with pytest.raises(DataError, match="too large for event forecasts; remove rare entities"):
        EventIndex(history_with(Size(1 << 24, 1 << 14)), TimeAxis())


def test_the_filter_refuses_more_keys_than_it_can_number():
    size: Any = Size(1 << 31, 1 << 28)
    assert len(TrueAnswers(FACTS, size).key) == 4
    size = Size(1 << 31, 1 << 29)
    with pytest.raises(DataError, match="too large for the filter; use a coarser time unit"):
        TrueAnswers(FACTS, size)
