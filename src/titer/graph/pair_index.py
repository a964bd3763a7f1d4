"""What a history says about pairs, relations and entities, beyond their latest edges."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from titer.errors import DataError
from titer.graph.decayed_counts import DecayedCounts
from titer.graph.history import LAST_STEP, TIME_BITS, History
from titer.graph.ragged import spread

MAX_PAIRS = 1 << (63 - TIME_BITS)


@dataclass(frozen=True)
class Series:
    """Past facts (s, r', o, ·) of a batch of subjects, gathered by what they say: one row for each (s, r', o)."""

    row: Tensor  # (series,) which subject of the batch
    relation: Tensor  # (series,)
    object: Tensor  # (series,)
    event: Tensor  # (series,) the latest fact, in the counts_of_series of series


@dataclass(frozen=True)
class Latest:
    """The latest facts of series, laid end to end."""

    row: Tensor  # (facts,) which of the asked
    object: Tensor  # (facts,)
    elapsed: Tensor  # (facts,)
    number: Tensor  # (facts,) how many facts the series has by then


class PairIndex:
    """Indexes over a history, built when a model first needs them. A fact that is repeated in a step counts once.

    Like the history, it may hold facts of any time, and whoever asks names the moment before which to look: steps
    elapsed since the history's first fact.
    """

    def __init__(self, history: History):
        vocabulary = history.vocabulary
        self.num_entities, self.num_relations = vocabulary.num_entities, vocabulary.num_directed_relations
        # Pairs (s, r) stand above the time in a key. If they fit, then (s, o, r) fits into a number as well.
        if self.num_entities * self.num_relations >= MAX_PAIRS:
            raise DataError(
                f"entities x relations (and their inverses) must be below {MAX_PAIRS:,} for a pair_index of all facts; "
                "leave out entities or relations without facts"
            )
        key, relation, object = history.key[:-1], history.relation[:-1].long(), history.object[:-1].long()
        subject, elapsed = key >> TIME_BITS, key & LAST_STEP

        # Series (s, o, r), sorted by subject and object.
        series = (subject * self.num_entities + object) * self.num_relations + relation
        kinds, series = torch.unique(series, return_inverse=True)
        self.series_relation = kinds % self.num_relations
        self.series_object = kinds // self.num_relations % self.num_entities
        self.series_subject = kinds // self.num_relations // self.num_entities
        everyone = torch.arange(self.num_entities + 1, device=key.device)
        self.first_series = torch.searchsorted(self.series_subject, everyone)
        # One fact, one event: everything here counts facts, not rows of the data.
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

        # Facts by subject, relation and time, each with the moment when the same fact comes again.
        again = torch.full_like(elapsed, LAST_STEP)
        again[:-1] = torch.where(series[1:] == series[:-1], elapsed[1:], LAST_STEP)
        self.by_relation, order = torch.sort(
            ((subject * self.num_relations + relation) << TIME_BITS) + elapsed, stable=True
        )
        self.event_by_relation, self.again = order, again[order]
        self.object_by_relation = object[order]

    def series_before(self, subject: Tensor, elapsed: int) -> Series:
        """All series of each subject that began before a moment."""
        row, series = spread(self.first_series[subject], self.first_series[subject + 1])
        event, began = self.series.last(series, elapsed)
        began = began.nonzero()[:, 0]
        row, series, event = row[began], series[began], event[began]
        return Series(row, self.series_relation[series], self.series_object[series], event)

    def facts_between(self, subject: Tensor, object: int, elapsed: int) -> tuple[Tensor, Tensor]:
        """All past facts between one subject and an object: (relation, age)."""
        series = self.series_before(subject, elapsed)
        event = series.event[series.object == object]
        group = self.series.key[event] >> TIME_BITS
        _, event = spread(torch.searchsorted(self.series.key, group << TIME_BITS), event + 1)
        return self.series_relation[self.series.key[event] >> TIME_BITS], elapsed - self.series.elapsed[event]

    def answers_before(self, relation: Tensor, elapsed: int) -> tuple[Tensor, Tensor, Tensor]:
        """All answers that each relation had before a moment: (row of the relation, answer, event)."""
        row, answer = spread(self.first_answer[relation], self.first_answer[relation + 1])
        event, began = self.answers.last(answer, elapsed)
        began = began.nonzero()[:, 0]
        return row[began], self.answer_key[answer[began]] % self.num_entities, event[began]

    def answers_ever(self, subject: Tensor, relation: Tensor, elapsed: Tensor) -> tuple[Tensor, Tensor]:
        """All answers that each (subject, relation, ?) had before its own moment, each once: (row, answer)."""
        began, object = self._beginnings
        group = (subject * self.num_relations + relation) << TIME_BITS
        row, place = spread(torch.searchsorted(began, group), torch.searchsorted(began, group + elapsed))
        return row, object[place]

    @cached_property
    def _beginnings(self) -> tuple[Tensor, Tensor]:
        """The first fact of every series, by subject, relation and time; and its object."""
        group, elapsed = self.series.key >> TIME_BITS, self.series.elapsed
        first = torch.searchsorted(group, torch.arange(len(self.series_subject), device=group.device))
        pair = self.series_subject * self.num_relations + self.series_relation
        began, order = torch.sort((pair << TIME_BITS) + elapsed[first], stable=True)
        return began, self.series_object[order]

    def answer_features(self, relation: Tensor, answer: Tensor, elapsed: int) -> Tensor:
        """What is known of each entity as an answer to each relation. (batch, NUM_FEATURES)"""
        key = relation * self.num_entities + answer
        place = torch.searchsorted(self.answer_key, key)
        known = torch.zeros_like(key, dtype=torch.bool)
        if len(self.answer_key):
            known = self.answer_key[place.clamp(max=len(self.answer_key) - 1)] == key
        # A group that does not exist has no past.
        return self.answers.features_of(torch.where(known, place, len(self.answer_key)), elapsed)[0]

    def latest_answers(self, subject: Tensor, relation: Tensor, elapsed: int, limit: int) -> Latest:
        """The latest answers of (subject, relation, ?) before a moment, each once.

        Among the latest 2 x ``limit`` facts, those that do not come again before the moment; at most ``limit``.
        """
        group = (subject * self.num_relations + relation) << TIME_BITS
        start, end = torch.searchsorted(self.by_relation, group), torch.searchsorted(self.by_relation, group + elapsed)
        place = end[:, None] - 1 - torch.arange(2 * limit, device=group.device)
        exists = place >= start[:, None]
        place = place.clamp(min=0)
        if len(self.by_relation):
            exists = exists & (self.again[place] >= elapsed)
        row, column = (exists & (exists.cumsum(dim=1) <= limit)).nonzero(as_tuple=True)
        place = place[row, column]
        event = self.event_by_relation[place]
        return Latest(row, self.object_by_relation[place], self.series.elapsed[event], self.series.number[event])
