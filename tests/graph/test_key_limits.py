"""Combinations of ids that no 64-bit key can number have keys of two parts, or are refused before anything wraps."""

from typing import Any

import pytest
import torch

from graph.sizes import Size
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import DataError
from titer.events.index import EventIndex
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.sorted_edges import _check
from titer.models.path_mixture.distinct_queries import distinct_steps

FACTS = Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 3)])


def history_with(size: Any) -> History:
    history = History(FACTS, Vocabulary.numbered(2, 1))
    history.vocabulary = size
    return history


def test_the_event_index_refuses_more_triples_than_it_can_number():
    assert len(EventIndex(history_with(Size(1 << 20, 1 << 18)), TimeAxis()).keys)
    with pytest.raises(DataError, match="too large for event forecasts; remove rare entities"):
        EventIndex(history_with(Size(1 << 24, 1 << 14)), TimeAxis())


def test_the_filter_fits_keys_of_any_vocabulary():
    for entities, relations in ((1 << 31, 1 << 28), (1 << 31, 1 << 29)):
        size: Any = Size(entities, relations)
        known = TrueAnswers(FACTS, size)
        assert len(known.code) == 4
        subject = torch.tensor([0, 0, 0, 1, entities - 1])
        relation = torch.tensor([0, relations, 2 * relations - 1, 0, 0])
        row, answer = known.of(Queries(subject, relation, torch.tensor([0, 3, 0, 3, 0])))
        assert (row.tolist(), answer.tolist()) == ([0, 1, 3], [1, 1, 0])


def test_keys_of_the_filter_do_not_wrap():
    size: Any = Size(1 << 31, 1 << 30)
    known = TrueAnswers(Facts.from_rows([(0, 0, 1, 0), (1, 0, 0, 7)]), size)
    # In 64 bits, a single key of this query would be that of the first fact.
    row, _ = known.of(Queries.one(1 << 30, 0, 0))
    assert len(row) == 0
    row, answer = known.of(Queries.one(0, 0, 0))
    assert (row.tolist(), answer.tolist()) == ([0], [1])


def test_a_history_refuses_vocabularies_whose_ids_do_not_fit():
    largest: Any = Size((1 << 31) - 1, (1 << 30) - 2)
    _check(FACTS, largest, 0)
    for size in (Size(1 << 31, 1), Size(2, (1 << 30) - 1)):
        too_large: Any = size
        with pytest.raises(DataError, match="at most 2,147,483,647 entities and 1,073,741,822 relations; leave out"):
            _check(FACTS, too_large, 0)


def test_scoring_refuses_more_queries_than_it_can_number():
    queries = Queries(*torch.tensor([[0, 0, 1], [0, 0, 3]]).T)
    largest = history_with(Size(1 << 31, 1 << 29))
    assert [step.batch.time for step in distinct_steps(queries, largest)] == [1, 3]
    with pytest.raises(DataError, match="too large to score 2 time steps together; use smaller batches"):
        distinct_steps(queries, history_with(Size(1 << 31, 1 << 30)))
