"""How many facts that never occurred before a subject (or an object) and a relation will have."""

from functools import cached_property

import torch
from torch import Tensor, nn

from titer.events.counts import NUM_FEATURES, GroupedCounts
from titer.events.index import EventIndex

NUM_INPUTS = 8 * NUM_FEATURES


class Novelty:
    """First occurrences of triples, grouped by (entity, directed relation), entity, relation, and altogether.

    A directed pair (s, r) has the facts with the subject s, and (o, inverse of r) those with the object o.
    """

    def __init__(self, index: EventIndex):
        self.index = index
        self.num_directed = 2 * index.num_relations
        self.pair_of_triple = (  # (2 x triples,) the directed pairs of each triple
            torch.cat(
                [
                    index.triples.subject * self.num_directed + index.triples.relation,
                    index.triples.object * self.num_directed + index.triples.relation + index.num_relations,
                ]
            )
        )
        self.began = index.began.repeat(2)
        self.pairs, self.pair = torch.unique(self.pair_of_triple, return_inverse=True)
        self.entity, self.relation = self.pairs // self.num_directed, self.pairs % self.num_directed
        first = torch.full((len(self.pairs),), torch.iinfo(torch.int64).max, device=self.pairs.device)
        self.first = first.scatter_reduce(0, self.pair, self.began, reduce="amin")  # (pairs,) time of the first fact

    @cached_property
    def _groups(self) -> list[tuple[GroupedCounts, Tensor]]:
        """Counts, and the group of each pair in them."""
        new = self.pair_of_triple // self.num_directed, self.pair_of_triple % self.num_directed
        triple = self.index.fact_triple
        num = len(self.index.keys)
        pair = torch.cat([self.pair_of_triple[:num][triple], self.pair_of_triple[num:][triple]])
        facts = pair // self.num_directed, pair % self.num_directed
        elapsed = self.index.fact_elapsed.repeat(2)
        zero = torch.zeros_like
        keys = [
            (GroupedCounts(self.pair_of_triple, self.began), self.pairs),
            (GroupedCounts(new[0], self.began), self.entity),
            (GroupedCounts(new[1], self.began), self.relation),
            (GroupedCounts(zero(new[0]), self.began), zero(self.pairs)),
            (GroupedCounts(pair, elapsed), self.pairs),
            (GroupedCounts(facts[0], elapsed), self.entity),
            (GroupedCounts(facts[1], elapsed), self.relation),
            (GroupedCounts(zero(facts[0]), elapsed), zero(self.pairs)),
        ]
        return [(counts, counts.find(key)) for counts, key in keys]

    def before(self, elapsed: int) -> Tensor:
        """Return the positions of all directed pairs with a fact before a time."""
        return (self.first < elapsed).nonzero()[:, 0]

    def features(self, pair: Tensor, elapsed: Tensor) -> Tensor:
        """Return the features of pairs, given by position, each before its own time. (pairs, NUM_INPUTS)"""
        parts = [counts.state(group[pair], elapsed).features(elapsed) for counts, group in self._groups]
        return torch.cat(parts, dim=1)

    def tables(self, elapsed: int) -> list[Tensor]:
        """Return the features of all groups before one time, which pairs share."""
        states = [counts.state_at(elapsed) for counts, _ in self._groups]
        return [state.features(torch.full_like(state.event, elapsed)) for state in states]

    def features_in(self, tables: list[Tensor], pair: Tensor) -> Tensor:
        """Return the same as ``features`` for one time, from the tables of that time."""
        return torch.cat(
            [one.index_select(0, group[pair]) for one, (_, group) in zip(tables, self._groups, strict=True)], dim=1
        )

    def new_at(self, pair: Tensor, elapsed: Tensor) -> Tensor:
        """Return how many triples of each pair occur for the first time at a time. (pairs,)"""
        key = (self.pair << 32) + self.began
        ordered = torch.sort(key).values
        wanted = (pair << 32) + elapsed
        return (torch.searchsorted(ordered, wanted, right=True) - torch.searchsorted(ordered, wanted)).float()


class NoveltyNetwork(nn.Module):
    """The expected number of new facts of a directed pair in the next step, from counts."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, num_directed: int, hidden: int = 32, dim: int = 8):
        super().__init__()
        self.register_buffer("mean", torch.zeros(NUM_INPUTS))
        self.register_buffer("deviation", torch.ones(NUM_INPUTS))
        self.relation = nn.Embedding(num_directed, dim)
        nn.init.normal_(self.relation.weight, std=0.1)
        self.layers = nn.Sequential(
            nn.Linear(NUM_INPUTS + dim, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1)
        )

    def normalise(self, features: Tensor) -> None:
        """Set the mean and deviation of the inputs to those of some features."""
        self.mean.copy_(features.mean(dim=0))
        self.deviation.copy_(features.std(dim=0) + 0.01)

    def forward(self, features: Tensor, relation: Tensor) -> Tensor:
        """Return the logarithm of the expected number of new facts. (pairs,)"""
        scaled = ((features - self.mean) / self.deviation).clamp(-8, 8)
        return self.layers(torch.cat([scaled, self.relation(relation)], dim=1))[:, 0].clamp(max=5.0) - 3.0
