"""Combinations of ids that no 64-bit key can number are refused, before anything wraps around."""

from typing import Any

import pytest

from graph.sizes import Size
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.events.index import EventIndex
from titer.graph.filters import TrueAnswers
from titer.graph.history import History

FACTS = Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 3)])


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
