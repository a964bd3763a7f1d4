"""The facts of a history by subject and relation, for following the relations of a rule."""

import torch
from torch import Tensor

from titer.errors import DataError
from titer.graph.history import History
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

MAX_SERIES_CODE = 1 << 62


class SeriesIndex:
    """The series of a history, sorted by subject, relation and object. A series is all facts (s, r, o, ·).

    Like the history, the index may contain facts of any time, and every look-up takes a time: ``elapsed``, the time
    steps since the first fact of the history.
    """

    def __init__(self, history: History):
        vocabulary = history.vocabulary
        self.num_entities, self.num_relations = vocabulary.num_entities, vocabulary.num_directed_relations
        if self.num_entities**2 * self.num_relations >= MAX_SERIES_CODE:
            raise DataError("entities x entities x relations is too large to index; remove entities without facts")
        key = history.key[:-1]
        pair = (key >> TIME_BITS) * self.num_relations + history.relation[:-1].long()
        self.code, series = torch.unique(pair * self.num_entities + history.object[:-1].long(), return_inverse=True)
        self.event = torch.unique((series << TIME_BITS) + (key & LAST_STEP))  # (events,) each fact once
        numbers = torch.arange(len(self.code), device=key.device)
        first_event = torch.searchsorted(self.event, numbers << TIME_BITS)
        last_event = torch.searchsorted(self.event, (numbers + 1) << TIME_BITS) - 1
        self.began = self.event[first_event] & LAST_STEP  # (series,) the time of the first fact
        self.ended = self.event[last_event] & LAST_STEP  # (series,) the time of the last fact
        self.object = self.code % self.num_entities  # (series,)
        self.pair, counts = torch.unique_consecutive(self.code // self.num_entities, return_counts=True)
        ends = counts.cumsum(0)
        owner = torch.repeat_interleave(counts)
        first = torch.full_like(counts, LAST_STEP).scatter_reduce(0, owner, self.began, reduce="amin")
        # One more entry, without series, for pairs that are not there.
        self.first_fact = torch.cat([first, first.new_tensor([LAST_STEP])])
        self.pair_start = torch.cat([ends - counts, ends.new_zeros(1)])
        self.pair_end = torch.cat([ends, ends.new_zeros(1)])

    def series_of(self, subject: Tensor, relation: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first series of each subject and relation, and the one after the last. (batch,) each"""
        place = self._place(subject, relation)
        return self.pair_start[place], self.pair_end[place]

    def series_to(self, subject: Tensor, relation: Tensor, object: Tensor) -> tuple[Tensor, Tensor]:
        """Return the series of each subject, relation and object, and the one after it; the same if there is none."""
        code = (subject * self.num_relations + relation) * self.num_entities + object
        return torch.searchsorted(self.code, code), torch.searchsorted(self.code, code, right=True)

    def pair_began(self, subject: Tensor, relation: Tensor) -> Tensor:
        """Return the time of the first fact of each subject and relation; the last possible time if there is none."""
        return self.first_fact[self._place(subject, relation)]

    def _place(self, subject: Tensor, relation: Tensor) -> Tensor:
        """Return the position of each pair of subject and relation; the number of pairs if it has no facts."""
        pair = subject * self.num_relations + relation
        place = torch.searchsorted(self.pair, pair)
        if len(self.pair) == 0:
            return place
        known = self.pair[place.clamp(max=len(self.pair) - 1)] == pair
        return torch.where(known, place, len(self.pair))

    def last_up_to(self, series: Tensor, elapsed: Tensor) -> tuple[Tensor, Tensor]:
        """Return the time of the last fact of each series at or before a time, and whether there is one."""
        time, exists = self.ended[series], self.began[series] <= elapsed
        # Most series are short and over. Only those that go on after the time need a search.
        rows = (exists & (time > elapsed)).nonzero()[:, 0]
        if len(rows):
            event = torch.searchsorted(self.event, (series[rows] << TIME_BITS) + elapsed[rows], right=True) - 1
            time[rows] = self.event[event] & LAST_STEP
        return time, exists
