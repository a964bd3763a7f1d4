"""All facts of a history, grouped as the intensity of events needs them.

Every look-up takes the time before which to search: ``elapsed``, the time steps since the first fact of the history.
Facts at or after that time have no influence on what it returns.
"""

from functools import cached_property

import torch
from torch import Tensor

from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError
from titer.events.counts import NUM_FEATURES, GroupedCounts, GroupState, log_horizon
from titer.events.triples import BAG_HORIZONS, Bag, Triples
from titer.graph.decayed_counts import HORIZONS
from titer.graph.history import History
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS

PERIODS = {TimeUnit.HOUR: 24, TimeUnit.DAY: 7, TimeUnit.WEEK: 52, TimeUnit.MONTH: 12}
"""Steps after which the calendar repeats: hours of a day, days of a week, weeks and months of a year."""
MAX_AHEAD = 30
"""The largest number of steps ahead that the network distinguishes."""
LONG, LONGER = HORIZONS.index(30.0), HORIZONS.index(100.0)
SCALE = 4.0
"""Factor of a decayed count before log1p, so that one recent fact is not nearly zero."""


class EventIndex:
    """The facts of a history by triple, pair, relation and entity. A fact repeated within a time step counts once."""

    def __init__(self, history: History, axis: TimeAxis):
        vocabulary = history.vocabulary
        self.num_entities, self.num_relations = vocabulary.num_entities, vocabulary.num_relations
        self.first_time = history.first_time
        self.period = PERIODS.get(axis.unit, 1)
        if 2 * self.num_entities**2 * self.num_relations * self.period >= 1 << 63:
            raise DataError("entities x entities x relations is too large for event forecasts; remove rare entities")
        key, relation, object = history.key[:-1], history.relation[:-1].long(), history.object[:-1].long()
        forward = (relation < self.num_relations).nonzero()[:, 0]
        key, relation, object = key[forward], relation[forward], object[forward]
        subject, elapsed = key >> TIME_BITS, key & LAST_STEP
        self.keys, triple = torch.unique(self.key(Triples(subject, relation, object)), return_inverse=True)
        fact = torch.unique((triple << TIME_BITS) + elapsed)
        self.fact_triple, self.fact_elapsed = fact >> TIME_BITS, fact & LAST_STEP
        self.triples = self.triples_of(self.keys)
        facts = self.triples[self.fact_triple]
        subject, relation, object, elapsed = facts.subject, facts.relation, facts.object, self.fact_elapsed
        self.by_triple = GroupedCounts(self.keys[self.fact_triple], elapsed)
        self.by_phase = GroupedCounts(self.keys[self.fact_triple] * self.period + elapsed % self.period, elapsed)
        self.by_pair = GroupedCounts(subject * self.num_entities + object, elapsed)
        self.by_subject_relation = GroupedCounts(subject * self.num_relations + relation, elapsed)
        self.by_object_relation = GroupedCounts(object * self.num_relations + relation, elapsed)
        self.by_subject = GroupedCounts(subject, elapsed)
        self.by_object = GroupedCounts(object, elapsed)
        self.by_relation = GroupedCounts(relation, elapsed)
        self.by_nothing = GroupedCounts(torch.zeros_like(elapsed), elapsed)
        first = torch.searchsorted(fact, torch.arange(len(self.keys), device=fact.device) << TIME_BITS)
        self.began = elapsed[first]  # (triples,) time of the first fact
        self.num_steps = int(elapsed.max()) + 1 if len(elapsed) else 0

    def key(self, triples: Triples) -> Tensor:
        """Return one number for each triple."""
        return (triples.subject * self.num_relations + triples.relation) * self.num_entities + triples.object

    def triples_of(self, key: Tensor) -> Triples:
        """Return the triples of the numbers that ``key`` returned."""
        rest = key // self.num_entities
        return Triples(rest // self.num_relations, rest % self.num_relations, key % self.num_entities)

    def before(self, elapsed: int) -> Tensor:
        """Return the positions, in ``triples``, of all triples with a fact before a time."""
        return (self.began < elapsed).nonzero()[:, 0]

    def find(self, triples: Triples) -> Tensor:
        """Return the positions of triples in ``triples``; the number of all for one that never occurs."""
        return self.by_triple.find(self.key(triples))

    def occurred(self, triples: Triples, elapsed: int) -> Tensor:
        """Return whether triples have a fact before a time."""
        later = self.began.new_full((1,), torch.iinfo(torch.int64).max)
        return torch.cat([self.began, later])[self.find(triples)] < elapsed

    def had_pair(self, triples: Triples, elapsed: int) -> Tensor:
        """Return whether the entities of triples have a fact with each other before a time, in either direction."""
        if len(self.pairs) == 0:
            return torch.zeros_like(triples.subject, dtype=torch.bool)
        place = self.find_pair(triples)
        found = self.pairs[place] == triples.subject * self.num_entities + triples.object
        return found & (self._pair_began[place] < elapsed)

    def find_pair(self, triples: Triples) -> Tensor:
        """Return the position in ``pairs`` of each triple; that of some other pair for one without facts."""
        key = triples.subject * self.num_entities + triples.object
        return torch.searchsorted(self.pairs, key).clamp(max=max(len(self.pairs) - 1, 0))

    @cached_property
    def _pair_began(self) -> Tensor:
        """The time of the first fact of each pair, in either direction."""
        first = torch.full_like(self.pairs, torch.iinfo(torch.int64).max)
        reverse = self.triples.object * self.num_entities + self.triples.subject
        for place in (self.pair_of_triple, torch.searchsorted(self.pairs, reverse)):
            first = first.scatter_reduce(0, place, self.began, reduce="amin")
        return first

    def occurs(self, triple: Tensor, elapsed: Tensor) -> Tensor:
        """Return whether triples, given by position, have a fact at their time."""
        key, keys = (triple << TIME_BITS) + elapsed, self.by_triple.counts.key
        place = torch.searchsorted(keys, key).clamp(max=max(len(keys) - 1, 0))
        return keys[place] == key if len(keys) else torch.zeros_like(key, dtype=torch.bool)

    def next(self, triple: Tensor, elapsed: Tensor) -> Tensor:
        """Return the time of the first fact of triples at or after their time; LAST_STEP if there is none."""
        keys = self.by_triple.counts.key
        place = torch.searchsorted(keys, (triple << TIME_BITS) + elapsed)
        found = keys[place.clamp(max=max(len(keys) - 1, 0))]
        return torch.where((place < len(keys)) & (found >> TIME_BITS == triple), found & LAST_STEP, LAST_STEP)

    def facts_at(self, elapsed: int) -> Tensor:
        """Return the positions of the triples with a fact at a time."""
        return self._triples_by_time[self._offsets[elapsed] : self._offsets[elapsed + 1]]

    @cached_property
    def _triples_by_time(self) -> Tensor:
        return self.fact_triple[torch.sort(self.fact_elapsed, stable=True).indices]

    @cached_property
    def _offsets(self) -> list[int]:
        ordered = torch.sort(self.fact_elapsed).values
        return torch.searchsorted(ordered, torch.arange(self.num_steps + 1, device=ordered.device)).tolist()

    def keys_of(self, triples: Triples) -> dict[str, tuple[GroupedCounts, Tensor]]:
        """Return the groups that triples belong to: counts, and the key of each triple in them, by name."""
        s, r, o = triples.subject, triples.relation, triples.object
        entities, relations = self.num_entities, self.num_relations
        return {
            "fact": (self.by_triple, self.key(triples)),
            "reversed fact": (self.by_triple, self.key(Triples(o, r, s))),
            "pair": (self.by_pair, s * entities + o),
            "reversed pair": (self.by_pair, o * entities + s),
            "subject and relation": (self.by_subject_relation, s * relations + r),
            "object and relation": (self.by_object_relation, o * relations + r),
            "object as subject": (self.by_subject_relation, o * relations + r),
            "subject as object": (self.by_object_relation, s * relations + r),
            "subject": (self.by_subject, s),
            "object": (self.by_object, o),
            "subject, passive": (self.by_object, s),
            "object, active": (self.by_subject, o),
            "relation": (self.by_relation, r),
            "all": (self.by_nothing, torch.zeros_like(s)),
        }

    def states(self, triples: Triples, elapsed: Tensor) -> dict[str, GroupState]:
        """Return the states of all groups that triples belong to, each before its own time, by name."""
        return {name: counts.state_of(key, elapsed) for name, (counts, key) in self.keys_of(triples).items()}

    @cached_property
    def groups(self) -> dict[str, tuple[GroupedCounts, Tensor]]:
        """The groups of all triples of the index: counts, and the position of each triple's group, by name."""
        return {name: (counts, counts.find(key)) for name, (counts, key) in self.keys_of(self.triples).items()}

    def features(self, states: dict[str, GroupState], elapsed: Tensor) -> Tensor:
        """Return the features of all groups, and of the interval between the last two facts. (triples, features)"""
        fact = states["fact"]
        columns = [state.features(elapsed) for state in states.values()]
        return torch.cat([*columns, torch.log1p(self.interval(fact).float())[:, None] / 3], dim=1)

    def interval(self, fact: GroupState) -> Tensor:
        """Return the time steps between the last two facts of triples; 0 with fewer than two."""
        times = self.by_triple.counts.elapsed
        if len(times) == 0:
            return torch.zeros_like(fact.event)
        return torch.where(fact.number > 1.5, times[fact.event] - times[(fact.event - 1).clamp(min=0)], 0)

    def bag(self, triples: Triples, elapsed: Tensor) -> Bag:
        """Return the earlier facts between the entities of each triple, by directed relation."""
        directed = 2 * self.num_relations
        pair = (triples.subject * self.num_entities + triples.object) * directed
        series = self.by_series
        row, group = spread(torch.searchsorted(series.keys, pair), torch.searchsorted(series.keys, pair + directed))
        return self.bag_of(row, group, series.state(group, elapsed[row]), len(triples))

    def bag_of(self, row: Tensor, series: Tensor, state: GroupState, number: int) -> Bag:
        """Return a bag for each of a number of rows from the states of their series; ``row`` is in order."""
        kept = state.exists.nonzero()[:, 0]
        weight = torch.log1p(SCALE * state.counts[kept][:, list(BAG_HORIZONS)])
        offset = torch.searchsorted(row[kept], torch.arange(number + 1, device=row.device))
        relation = self.by_series.keys[series[kept]] % (2 * self.num_relations)
        return Bag(offset, relation, weight, state.age[kept])

    @cached_property
    def by_series(self) -> GroupedCounts:
        """Facts in both directions, by pair of entities and directed relation."""
        facts, relations = self.triples[self.fact_triple], self.num_relations
        forward = (facts.subject * self.num_entities + facts.object) * 2 * relations + facts.relation
        backward = (facts.object * self.num_entities + facts.subject) * 2 * relations + facts.relation + relations
        return GroupedCounts(torch.cat([forward, backward]), self.fact_elapsed.repeat(2))

    @cached_property
    def pairs(self) -> Tensor:
        """The sorted keys of all pairs of entities with a fact in either direction."""
        return torch.unique_consecutive(self.by_series.keys // (2 * self.num_relations))

    @cached_property
    def pair_of_series(self) -> Tensor:
        """The position in ``pairs`` of each group of ``by_series``."""
        return torch.searchsorted(self.pairs, self.by_series.keys // (2 * self.num_relations))

    @cached_property
    def pair_of_triple(self) -> Tensor:
        """The position in ``pairs`` of each triple."""
        return self.find_pair(self.triples)

    def target_features(
        self, triples: Triples, fact: GroupState, elapsed: Tensor, ahead: Tensor, *, forget: bool = False
    ) -> Tensor:
        """Return the features of a step ahead: its place in the calendar, and what happened at this place before.

        Args:
            triples: The triples.
            fact: Their state before ``elapsed``.
            elapsed: The first forecast step of each triple.
            ahead: Which step: 1 for ``elapsed`` itself.
            forget: Whether to leave out at which places of the calendar the facts occurred.
        """
        phase = (elapsed + ahead - 1) % self.period
        state = self.by_phase.state_of(self.key(triples) * self.period + phase, elapsed)
        if forget:
            state = state.minus(state)
        return self.step_features(state, fact, self.interval(fact), elapsed, ahead)

    def step_features(
        self, state: GroupState, fact: GroupState, interval: Tensor, elapsed: Tensor, ahead: Tensor
    ) -> Tensor:
        """Return the same from the state of facts at this place of the calendar, and the interval before the last."""
        target = elapsed + ahead - 1
        past = torch.clamp(torch.div(target, self.period, rounding_mode="floor"), min=1)
        share = state.number / past  # of the earlier steps at this place of the calendar
        usual = fact.number / elapsed.clamp(min=1)
        recent = (
            self.period * state.counts[:, [LONG, LONGER]] / torch.tensor([30.0, 100.0], device=share.device)
        ).clamp(max=2)
        # How often the fact has not occurred at this place of the calendar since it last did.
        latest = target - self.period * (torch.div(ahead - 1, self.period, rounding_mode="floor") + 1)
        missed = torch.div(latest - (elapsed - state.age), self.period, rounding_mode="floor")
        repeats = state.exists & (self.period > 1)
        since = torch.where(fact.exists, fact.age + ahead - 1, 0)
        columns = [
            torch.nn.functional.one_hot(target % self.period % MAX_CALENDAR, MAX_CALENDAR).float(),
            torch.stack(
                [
                    log_horizon(ahead.clamp(max=MAX_AHEAD)),
                    torch.log(share + 0.01) / 3,
                    torch.log((share + 0.01) / (usual + 0.01)) / 3,
                    torch.log(recent[:, 0] + 0.01) / 3,
                    torch.log(recent[:, 1] + 0.01) / 3,
                    (repeats & (missed == 1)).float(),
                    torch.log1p(torch.where(state.exists, (missed + 1) * self.period, 0).float()) / 3,
                    (repeats & (missed == 0)).float(),
                    torch.log1p(since.float()) / 3,
                    torch.log((since + 1.0) / (interval + 1.0)) / 3 * (interval > 0),
                    ((since == interval) & (interval > 0)).float(),
                    ((since % interval.clamp(min=1) == 0) & (interval > 1)).float(),
                ],
                dim=1,
            ),
        ]
        return torch.cat(columns, dim=1)


MAX_CALENDAR = 7
"""Columns of the place in the calendar; longer periods share columns and are distinguished by their own counts."""
NUM_GROUPS = 14
NUM_ORIGIN_FEATURES = NUM_GROUPS * NUM_FEATURES + 1
NUM_TARGET_FEATURES = MAX_CALENDAR + 12
