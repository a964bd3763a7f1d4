"""Features of all facts before one time step: what groups share is computed once for each group."""

from functools import cached_property

import torch
from torch import Tensor

from titer.events.counts import GroupedCounts, GroupState
from titer.events.index import EventIndex
from titer.events.network import IntensityNetwork
from titer.events.triples import Bag, Triples


class FeatureTable:
    """The features of all triples with a fact before one time, the same as those of ``EventIndex``.

    Args:
        index: The facts.
        elapsed: Only facts before this time have an influence.
    """

    def __init__(self, index: EventIndex, elapsed: int):
        self.index, self.elapsed = index, elapsed
        self.place = index.before(elapsed)  # (rows,) positions in the index
        self.triples = index.triples[self.place]
        self._states: dict[GroupedCounts, GroupState] = {}
        for counts, _ in index.groups.values():
            if counts not in self._states:
                self._states[counts] = counts.state_at(elapsed)
        times = {counts: torch.full_like(state.event, elapsed) for counts, state in self._states.items()}
        self._features = {counts: state.features(times[counts]) for counts, state in self._states.items()}
        self.fact = self._states[index.by_triple][self.place]
        self.interval = index.interval(self.fact)

    def features(self, rows: slice) -> Tensor:
        """Return the features of some rows. (rows, features)"""
        place = self.place[rows]
        columns = [self._features[counts].index_select(0, group[place]) for counts, group in self.index.groups.values()]
        return torch.cat([*columns, torch.log1p(self.interval[rows].float())[:, None] / 3], dim=1)

    def features_of_new(self, triples: Triples) -> Tensor:
        """Return the features of triples that never occurred before the time. (triples, features)"""
        keys = self.index.keys_of(triples).values()
        columns = [self._features[counts].index_select(0, counts.find(key)) for counts, key in keys]
        return torch.cat([*columns, columns[0].new_zeros(len(triples), 1)], dim=1)

    @cached_property
    def bag(self) -> Bag:
        """The earlier facts of each pair of entities by directed relation."""
        series = self.index.by_series
        group = torch.arange(len(series), device=self.place.device)
        state = series.state_at(self.elapsed)[group]
        return self.index.bag_of(self.index.pair_of_series, group, state, len(self.index.pairs))

    def recall(self, networks: list[IntensityNetwork], pair: Tensor, ahead: int) -> list[Tensor]:
        """Return, for each network, the embedded earlier facts of entries of ``bag`` by their age at a step ahead."""
        pairs, place = torch.unique(pair, return_inverse=True)
        bag, steps = self.bag[pairs], torch.full_like(pairs, ahead)
        return [network.recall(bag, steps)[place] for network in networks]

    def pair(self, rows: slice | Tensor) -> Tensor:
        """Return the entry of ``bag`` of some rows. (rows,)"""
        return self.index.pair_of_triple[self.place[rows]]

    @cached_property
    def _phases(self) -> GroupState:
        return self.index.by_phase.state_at(self.elapsed)

    def step_features(self, rows: Tensor, ahead: int) -> Tensor:
        """Return the features of a step ahead for some rows. (rows, features)"""
        phase = (self.elapsed + ahead - 1) % self.index.period
        group = self.index.by_phase.find(self.index.keys[self.place[rows]] * self.index.period + phase)
        state = self._phases[group]
        elapsed = torch.full_like(rows, self.elapsed)
        return self.index.step_features(
            state, self.fact[rows], self.interval[rows], elapsed, torch.full_like(rows, ahead)
        )
