"""The facts of a history by pair of entities, by relation and by entity, with decayed counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from titer.errors import DataError
from titer.graph.count_features import features_of
from titer.graph.decayed_counts import DecayedCounts
from titer.graph.history import LAST_STEP, TIME_BITS, History
from titer.graph.ragged import spread

MAX_TRIPLES = 1 << 63
"""Combinations of subject, object and relation that an integer can number."""


@dataclass(frozen=True)
class Series:
    """The series of a batch of subjects. A series is all facts (s, r', o, ·): one fact at several times."""

    row: Tensor  # (series,) position of the subject in the batch
    relation: Tensor  # (series,)
    object: Tensor  # (series,)
    event: Tensor  # (series,) the latest event before the time, in ``PairIndex.series``


@dataclass(frozen=True)
class Latest:
    """The latest facts of some series, concatenated."""

    row: Tensor  # (facts,) position of the subject in the batch
    object: Tensor  # (facts,)
    elapsed: Tensor  # (facts,) time steps since the first fact of the history
    number: Tensor  # (facts,) number of facts of the series up to this one


def of_rows(value: int | Tensor, row: Tensor) -> int | Tensor:
    """Return the value of each row; a number is the value of all rows."""
    return value if isinstance(value, int) else value.index_select(0, row)


class PairIndex:
    """Indexes over a history. A fact that is repeated within a time step counts once.

    Like the history, the index may contain facts of any time, and every look-up takes the time before which to search:
    ``elapsed``, the time steps since the first fact of the history.
    """

    def __init__(self, history: History):
        vocabulary = history.vocabulary
        self.num_entities, self.num_relations = vocabulary.num_entities, vocabulary.num_directed_relations
        if self.num_entities**2 * self.num_relations >= MAX_TRIPLES:
            raise DataError(
                f"entities x entities x relations (and their inverses) must be below {MAX_TRIPLES:.0e} to index pairs; "
                "remove entities or relations without facts"
            )
        self._order_by_first_fact(history)
        key, relation, object = history.key[:-1], history.relation[:-1].long(), history.object[:-1].long()
        subject, elapsed = key >> TIME_BITS, key & LAST_STEP

        # Series (s, o, r), sorted by subject and object.
        series = (subject * self.num_entities + object) * self.num_relations + relation
        kinds, series = torch.unique(series, return_inverse=True)
        self.series_relation = kinds % self.num_relations
        self.series_object = kinds // self.num_relations % self.num_entities
        self.series_subject = kinds // self.num_relations // self.num_entities
        entities = torch.arange(self.num_entities + 1, device=key.device)
        self.first_series = torch.searchsorted(self.series_subject, entities)
        # A repeated fact is one event: all counts here are of facts, not of rows of the data.
        event = torch.unique((series << TIME_BITS) + elapsed)
        series, elapsed = event >> TIME_BITS, event & LAST_STEP
        self.series = DecayedCounts(series, elapsed)

        subject, relation, object = (
            column[series] for column in (self.series_subject, self.series_relation, self.series_object)
        )
        self.activity = DecayedCounts(object, elapsed)
        self.answer_key, answers = torch.unique(relation * self.num_entities + object, return_inverse=True)
        self.first_answer = torch.searchsorted(
            self.answer_key, torch.arange(self.num_relations + 1, device=key.device) * self.num_entities
        )
        self.answers = DecayedCounts(answers, elapsed)

        # Facts by subject, relation and time, each with the time at which the same fact next occurs.
        again = torch.full_like(elapsed, LAST_STEP)
        again[:-1] = torch.where(series[1:] == series[:-1], elapsed[1:], LAST_STEP)
        # Pairs (s, r) that occur are numbered, so that number and time fit into a key however many could occur.
        self.pair_key, pair = torch.unique(subject * self.num_relations + relation, return_inverse=True)
        self.by_relation, order = torch.sort((pair << TIME_BITS) + elapsed, stable=True)
        self.event_by_relation, self.again = order, again[order]
        self.object_by_relation = object[order]

    def _order_by_first_fact(self, history: History) -> None:
        """Order all entities by their first fact: those with a fact before a time come first, whatever the time."""
        start, end = history.offsets[:-1], history.offsets[1:]
        first = torch.where(start < end, history.key[start] & LAST_STEP, LAST_STEP + 1)
        first, self.by_first = torch.sort(first, stable=True)
        self.rank = torch.empty_like(self.by_first)  # (num_entities,) position of each entity in ``by_first``
        self.rank[self.by_first] = torch.arange(len(first), device=first.device)
        # On the CPU, so that counting does not wait for a GPU.
        self._first = first.cpu().numpy()

    def num_known(self, elapsed: int) -> int:
        """Return how many entities have a fact before a time; they are the first of ``by_first``."""
        return int(np.searchsorted(self._first, elapsed))

    def series_before(self, subject: Tensor, elapsed: int | Tensor) -> Series:
        """Return all series of each subject with a fact before a time, or each before its own."""
        row, series = spread(self.first_series[subject], self.first_series[subject + 1])
        event, began = self.series.last(series, of_rows(elapsed, row))
        began = began.nonzero()[:, 0]
        row, series, event = (column.index_select(0, began) for column in (row, series, event))
        relation, object = (column.index_select(0, series) for column in (self.series_relation, self.series_object))
        return Series(row, relation, object, event)

    def facts_between(self, subject: Tensor, object: int, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return the relations and the ages of all facts from one subject to an object before a time."""
        series = self.series_before(subject, elapsed)
        event = series.event[series.object == object]
        group = self.series.key[event] >> TIME_BITS
        _, event = spread(torch.searchsorted(self.series.key, group << TIME_BITS), event + 1)
        return self.series_relation[self.series.key[event] >> TIME_BITS], self.series.age_at(event, elapsed)

    def answers_before(self, relation: Tensor, elapsed: int | Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return all answers of each relation before a time, or each before its own.

        The row of the relation, the answer, and the event in ``answers``.
        """
        row, answer = spread(self.first_answer[relation], self.first_answer[relation + 1])
        event, began = self.answers.last(answer, of_rows(elapsed, row))
        began = began.nonzero()[:, 0]
        row, answer, event = (column.index_select(0, began) for column in (row, answer, event))
        return row, self.answer_key.index_select(0, answer) % self.num_entities, event

    def answers_ever(self, subject: Tensor, relation: Tensor, elapsed: Tensor) -> tuple[Tensor, Tensor]:
        """Return all answers of each (subject, relation, ?) before its own time, each once: row, answer."""
        began, object = self._beginnings
        group = self._pair(subject, relation) << TIME_BITS
        row, place = spread(torch.searchsorted(began, group), torch.searchsorted(began, group + elapsed))
        return row, object[place]

    def relations_between(self, subject: Tensor, object: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return all relations of the facts from each subject to its object before a time, each once: row, relation."""
        pair = (subject * self.num_entities + object) * self.num_relations
        place = torch.searchsorted(self._kinds, torch.stack([pair, pair + self.num_relations]))
        row, series = spread(place[0], place[1])
        began = self.series.last(series, elapsed)[1].nonzero()[:, 0]
        return row[began], self.series_relation[series[began]]

    @cached_property
    def _kinds(self) -> Tensor:
        """A number for every series, in ascending order."""
        pair = self.series_subject * self.num_entities + self.series_object
        return pair * self.num_relations + self.series_relation

    @cached_property
    def _beginnings(self) -> tuple[Tensor, Tensor]:
        """The first fact of every series, sorted by subject, relation and time, and its object."""
        group, elapsed = self.series.key >> TIME_BITS, self.series.elapsed
        first = torch.searchsorted(group, torch.arange(len(self.series_subject), device=group.device))
        pair = self._pair(self.series_subject, self.series_relation)
        began, order = torch.sort((pair << TIME_BITS) + elapsed[first], stable=True)
        return began, self.series_object[order]

    def _pair(self, subject: Tensor, relation: Tensor) -> Tensor:
        """Return the number of each pair (subject, relation); the number after the last if it never occurs."""
        key = subject * self.num_relations + relation
        place = torch.searchsorted(self.pair_key, key)
        if len(self.pair_key) == 0:
            return place
        occurs = self.pair_key.index_select(0, place.clamp(max=len(self.pair_key) - 1)) == key
        return torch.where(occurs, place, len(self.pair_key))

    def objects_before(self, elapsed: int) -> tuple[Tensor, int]:
        """Return the objects of all facts in order of time, and how many of them are before a time."""
        objects, when = self._by_time
        return objects, int(np.searchsorted(when, elapsed))

    @cached_property
    def _by_time(self) -> tuple[Tensor, np.ndarray]:
        """The objects of all facts in order of time, and on the CPU their times."""
        when, order = torch.sort(self.series.elapsed, stable=True)
        series = self.series.key.index_select(0, order) >> TIME_BITS
        return self.series_object.index_select(0, series), when.cpu().numpy()

    def last_answers(self, relation: Tensor, answer: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return the last event before a time, in ``answers``, of each answer to its relation, and if there is one."""
        if len(self.answer_key) == 0:
            return torch.zeros_like(answer), torch.zeros_like(answer, dtype=torch.bool)
        key = relation * self.num_entities + answer
        place = torch.searchsorted(self.answer_key, key).clamp(max=len(self.answer_key) - 1)
        event, began = self.answers.last(place, elapsed)
        return event, began & (self.answer_key.index_select(0, place) == key)

    def answer_features(self, relation: Tensor, answer: Tensor, elapsed: int | Tensor) -> Tensor:
        """Return the features of each entity as an answer to its relation before its time. (batch, NUM_FEATURES)"""
        key = relation * self.num_entities + answer
        place = torch.searchsorted(self.answer_key, key)
        known = torch.zeros_like(key, dtype=torch.bool)
        if len(self.answer_key):
            known = self.answer_key[place.clamp(max=len(self.answer_key) - 1)] == key
        # The number after the last group has no events.
        return features_of(self.answers, torch.where(known, place, len(self.answer_key)), elapsed)[0]

    def latest_answers(self, subject: Tensor, relation: Tensor, elapsed: int | Tensor, limit: int) -> Latest:
        """Return the latest answers of each (subject, relation, ?) before a time, or its own time, each once.

        Searches the latest 2 x ``limit`` facts for the last occurrences of their answers; returns at most ``limit``.
        """
        group = self._pair(subject, relation) << TIME_BITS
        start, end = torch.searchsorted(self.by_relation, group), torch.searchsorted(self.by_relation, group + elapsed)
        row, place = spread(torch.maximum(start, end - 2 * limit), end)
        last = (self.again.index_select(0, place) >= of_rows(elapsed, row)).nonzero()[:, 0]
        row, place = row.index_select(0, last), place.index_select(0, last)
        # Those of one row are in order of time, so its latest are at its end.
        after = torch.searchsorted(row, row, right=True) - torch.arange(len(row), device=row.device)
        latest = (after <= limit).nonzero()[:, 0]
        row, place = row.index_select(0, latest), place.index_select(0, latest)
        event = self.event_by_relation.index_select(0, place)
        elapsed_then, number = (column.index_select(0, event) for column in (self.series.elapsed, self.series.number))
        return Latest(row, self.object_by_relation.index_select(0, place), elapsed_then, number)
