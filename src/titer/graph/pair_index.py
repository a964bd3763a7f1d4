"""The facts of a history by pair of entities, by relation and by entity, with decayed counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from titer.graph.count_features import features_of
from titer.graph.decayed_counts import DecayedCounts
from titer.graph.history import History
from titer.graph.pair_columns import built_columns
from titer.graph.pair_pieces import NEVER_AGAIN, sizes_of
from titer.graph.pair_update import updated_columns
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

MAX_TRIPLES = 1 << 63
"""Combinations of subject, object and relation that an integer can number; with more, pairs are numbered first."""


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

    All columns are sorted by subject first. They are computed from the edges of a few subjects at a time
    (``pair_pieces``), so building takes little memory besides the index, and a change of some facts changes only the
    rows of their entities (``updated``).

    Attributes:
        series: Counts of each series (s, r, o), by number of series.
        answers: Counts of the facts of each pair (s, r), by number of pair. As every fact has both directions, they
            are also the counts of s as an answer to the inverse of r.
        activity: Counts of the facts of each entity.
        by_first: All entities, in order of their first facts.
        rank: The position of each entity in ``by_first``.
    """

    def __init__(self, history: History):
        """Index a history.

        Args:
            history: The history; the index is on its device.
        """
        self._keep(history, {name: column.to(history.device) for name, column in built_columns(history).items()})

    @classmethod
    def of_columns(cls, history: History, columns: dict[str, Tensor]) -> "PairIndex":
        """Return the index of a history whose columns were computed before.

        Args:
            history: The history.
            columns: The columns of ``built_columns``, on the device of the history.
        """
        made = object.__new__(cls)
        made._keep(history, columns)
        return made

    def updated(self, history: History, changed: Tensor) -> "PairIndex":
        """Return the index of a history that has other facts of some entities, without building it from the start.

        Args:
            history: A history with the relations of this one, and its entities, perhaps with others appended.
            changed: The entities whose edges differ, in ascending order. Shape ``(entities,)``.
        """
        return PairIndex.of_columns(history, updated_columns(self.columns, self.first_time, history, changed))

    def _keep(self, history: History, columns: dict[str, Tensor]) -> None:
        self.columns = columns
        self.first_time = history.first_time
        self.num_entities = history.vocabulary.num_entities
        self.num_relations = history.vocabulary.num_directed_relations
        self._inverse = history.vocabulary.inverse
        self._never_again = NEVER_AGAIN[sizes_of(history).again_type]
        self._order_by_first_fact(history)
        self.first_series, self.series_relation, self.series_object = (
            columns[name] for name in ("first_series", "series_relation", "series_object")
        )
        self.pair_key, self.by_relation = columns["pair_key"], columns["by_relation"]
        self.series, self.answers, self.activity = (
            DecayedCounts.of_columns(*(columns[f"{name}_{part}"] for part in ("key", "number", "counts")))
            for name in ("series", "answers", "activity")
        )

    @property
    def num_bytes(self) -> int:
        """Memory of the index in bytes."""
        return sum(column.element_size() * column.numel() for column in self.columns.values())

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
        return Series(row, relation.long(), object.long(), event)

    def series_of(
        self, subject: Tensor, row: Tensor, relation: Tensor, object: Tensor, elapsed: int | Tensor
    ) -> Series:
        """Return the series of some edges before a time, each once: edges (subject[row], relation, object)."""
        kind = self._first_kind(subject.index_select(0, row), object) + relation
        key = torch.unique(row * len(self._kinds) + torch.searchsorted(self._kinds, kind))
        row = key // len(self._kinds)
        series = key - row * len(self._kinds)
        event, _ = self.series.last(series, of_rows(elapsed, row))
        relation, object = (column.index_select(0, series) for column in (self.series_relation, self.series_object))
        return Series(row, relation.long(), object.long(), event)

    def facts_between(self, subject: Tensor, object: int, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return the relations and the ages of all facts from one subject to an object before a time."""
        series = self.series_before(subject, elapsed)
        return self.facts_of(series.event[series.object == object], elapsed)

    def facts_of(self, event: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return the relations and the ages of all facts of some series up to an event of each."""
        group = self.series.key[event] >> TIME_BITS
        _, event = spread(torch.searchsorted(self.series.key, group << TIME_BITS), event + 1)
        return self.series_relation[self.series.key[event] >> TIME_BITS].long(), self.series.age_at(event, elapsed)

    def answers_before(self, relation: Tensor, elapsed: int | Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return all answers of each relation before a time, or each before its own.

        The row of the relation, the answer, and the event in ``answers``.
        """
        first, inverse = self.columns["first_of_relation"], self._inverse(relation)
        row, place = spread(first[inverse], first[inverse + 1])
        pair = self.columns["pairs_by_relation"].index_select(0, place).long()
        event, began = self.answers.last(pair, of_rows(elapsed, row))
        began = began.nonzero()[:, 0]
        row, pair, event = (column.index_select(0, began) for column in (row, pair, event))
        return row, self.pair_key.index_select(0, pair) // self.num_relations, event

    def answers_ever(self, subject: Tensor, relation: Tensor, elapsed: Tensor) -> tuple[Tensor, Tensor]:
        """Return all answers of each (subject, relation, ?) before its own time, each once: row, answer."""
        began, object = self._beginnings
        group = self._pair(subject, relation) << TIME_BITS
        row, place = spread(torch.searchsorted(began, group), torch.searchsorted(began, group + elapsed))
        return row, object[place]

    def relations_between(self, subject: Tensor, object: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return all relations of the facts from each subject to its object before a time, each once: row, relation."""
        first, after = self._first_kind(subject, object), self._first_kind(subject, object, after=True)
        place = torch.searchsorted(self._kinds, torch.stack([first, after]))
        row, series = spread(place[0], place[1])
        began = self.series.last(series, elapsed)[1].nonzero()[:, 0]
        return row[began], self.series_relation[series[began]].long()

    @cached_property
    def _series_subject(self) -> Tensor:
        """The subject of every series."""
        return torch.repeat_interleave(self.first_series.diff())

    @cached_property
    def _kinds(self) -> Tensor:
        """A number for every series, in ascending order: those of a pair of entities follow each other."""
        return self._first_kind(self._series_subject, self.series_object) + self.series_relation

    def _first_kind(self, subject: Tensor, object: Tensor, *, after: bool = False) -> Tensor:
        """Return the first number that a series of each pair of entities can have, or the one after its last."""
        pair = subject * self.num_entities + object
        if self._entity_pairs is not None:
            pair = torch.searchsorted(self._entity_pairs, pair, right=after)  # a pair without facts has no numbers
        elif after:
            pair = pair + 1
        return pair * self.num_relations

    @cached_property
    def _entity_pairs(self) -> Tensor | None:
        """All pairs of entities with a fact, ascending; None if a number for every series needs none for its pair."""
        if self.num_entities**2 * self.num_relations < MAX_TRIPLES:
            return None
        return torch.unique_consecutive(self._series_subject * self.num_entities + self.series_object)

    @cached_property
    def _beginnings(self) -> tuple[Tensor, Tensor]:
        """The first fact of every series, sorted by subject, relation and time, and its object."""
        numbers = torch.arange(len(self.series_relation), device=self.series.key.device)
        first = torch.searchsorted(self.series.key, numbers << TIME_BITS)
        pair = self._pair(self._series_subject, self.series_relation)
        began, order = torch.sort((pair << TIME_BITS) + self.series.elapsed_of(first), stable=True)
        return began, self.series_object[order].long()

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
        when, order = torch.sort(self.series.key & LAST_STEP, stable=True)
        series = self.series.key.index_select(0, order) >> TIME_BITS
        return self.series_object.index_select(0, series), when.cpu().numpy()

    def last_answers(self, relation: Tensor, answer: Tensor, elapsed: int) -> tuple[Tensor, Tensor]:
        """Return the last event before a time, in ``answers``, of each answer to its relation, and if there is one."""
        return self.answers.last(self._pair(answer, self._inverse(relation)), elapsed)

    def answer_features(self, relation: Tensor, answer: Tensor, elapsed: int | Tensor) -> Tensor:
        """Return the features of each entity as an answer to its relation before its time. (batch, NUM_FEATURES)"""
        return features_of(self.answers, self._pair(answer, self._inverse(relation)), elapsed)[0]

    def latest_answers(self, subject: Tensor, relation: Tensor, elapsed: int | Tensor, limit: int) -> Latest:
        """Return the latest answers of each (subject, relation, ?) before a time, or its own time, each once.

        Searches the latest 2 x ``limit`` facts for the last occurrences of their answers; returns at most ``limit``.
        """
        group = self._pair(subject, relation) << TIME_BITS
        start, end = torch.searchsorted(self.by_relation, group), torch.searchsorted(self.by_relation, group + elapsed)
        row, place = spread(torch.maximum(start, end - 2 * limit), end)
        never = self._never_again
        until = min(elapsed, never) if isinstance(elapsed, int) else elapsed.clamp(max=never)
        last = (self.columns["again"].index_select(0, place) >= of_rows(until, row)).nonzero()[:, 0]
        row, place = row.index_select(0, last), place.index_select(0, last)
        # Those of one row are in order of time, so its latest are at its end.
        after = torch.searchsorted(row, row, right=True) - torch.arange(len(row), device=row.device)
        latest = (after <= limit).nonzero()[:, 0]
        row, place = row.index_select(0, latest), place.index_select(0, latest)
        event = self.columns["event_by_relation"].index_select(0, place)
        object = self.columns["object_by_relation"].index_select(0, place).long()
        return Latest(row, object, self.series.elapsed_of(event), self.series.number.index_select(0, event))
