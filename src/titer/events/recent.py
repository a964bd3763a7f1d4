"""How the forecasts of the last steps turned out, so that the next one makes up for what they missed."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.events.index import EventIndex
from titer.events.network import IntensityNetwork
from titer.events.rows import inputs_of
from titer.events.trees import BoostedTrees
from titer.events.triples import Triples

NUM_STEPS = 12
"""Steps before a forecast that it learns from."""
NUM_FACTS = 5000
"""Facts of each of these steps that are forecast: those with the highest rates before it."""
HORIZON = 10.0
"""Steps after which an error counts 1/e."""
RELATION_PRIOR, PAIR_PRIOR = 3.0, 10.0
"""Events that were forecast and happened, added for each relation and each pair: few errors change little."""
NUM_RECENT = 2


@dataclass(frozen=True)
class Outcomes:
    """The forecasts of one step, from the facts before it, and what happened."""

    triples: Triples
    probability: Tensor  # (facts,)
    happened: Tensor  # (facts,)


class RecentErrors:
    """The outcomes of forecasts of the steps of an index; those of the last ones are kept."""

    def __init__(self, index: EventIndex):
        self.index = index
        self._kept: dict[int, Outcomes] = {}

    @torch.inference_mode()
    def before(self, networks: list[IntensityNetwork], trees: BoostedTrees, elapsed: int) -> "Corrections":
        """Return by how much the forecasts of the steps before a time fell short."""
        # Where the data end earlier, that nothing is known of the steps between does not mean that nothing happened.
        end = self.index.last_before(elapsed) + 1
        steps = range(max(1, end - NUM_STEPS), end)
        for step in [step for step in self._kept if step not in steps]:
            del self._kept[step]
        for step in steps:
            if step not in self._kept:
                self._kept[step] = self._outcomes(networks, trees, step)
        return Corrections(self.index, [(end - 1 - step, self._kept[step]) for step in steps])

    def _outcomes(self, networks: list[IntensityNetwork], trees: BoostedTrees, step: int) -> Outcomes:
        index = self.index
        place = index.before(step)
        rates = index.by_triple.state(place, torch.full_like(place, step)).rates(torch.full_like(place, step))
        place = place[rates[:, 1:].mean(dim=1).topk(min(NUM_FACTS, len(place))).indices]
        triples, times = index.triples[place], torch.full_like(place, step)
        features, bag, targets = inputs_of(index, triples, times, torch.ones_like(times))
        relation = triples.relation
        found = [
            network(network.encode(features, relation, network.pool(bag)), relation, targets)[:, 0]
            for network in networks
        ]
        log_intensity = (torch.stack(found).mean(dim=0) + trees(features, targets)) / 2
        return Outcomes(triples, -torch.expm1(-torch.exp(log_intensity)), index.occurs(place, times))


class Corrections:
    """Sums of forecasts and of events, by relation and by pair of entities, the latest steps counting most."""

    def __init__(self, index: EventIndex, outcomes: list[tuple[int, Outcomes]]):
        """Sum forecasts.

        Args:
            index: The facts.
            outcomes: The outcomes of steps, each with the number of steps since.
        """
        self.index = index
        device = index.keys.device
        weight, keys, sums = list[Tensor](), list[Tensor](), list[Tensor]()
        relations = list[Tensor]()
        for age, one in outcomes:
            values = torch.stack([one.probability, one.happened.float()], dim=1)
            weight.append(torch.full((len(values), 1), age / -HORIZON, device=device).exp())
            sums.append(values)
            keys.append(self._pair(one.triples))
            relations.append(one.triples.relation)
        total = torch.cat(sums) * torch.cat(weight) if sums else torch.zeros(0, 2, device=device)
        nothing = torch.zeros(0, dtype=torch.int64, device=device)
        relation, pair = (torch.cat(column) if column else nothing for column in (relations, keys))
        self.relations = torch.zeros(index.num_relations, 2, device=device).index_add(0, relation, total)
        self.keys, place = torch.unique(pair, return_inverse=True)
        # One more row for pairs without forecasts.
        self.pairs = torch.zeros(len(self.keys) + 1, 2, device=device).index_add(0, place, total)

    def _pair(self, triples: Triples) -> Tensor:
        return triples.subject * self.index.num_entities + triples.object

    def of(self, triples: Triples) -> Tensor:
        """Return the logarithms of events per forecast event, for the relations and for the pairs of triples."""
        key = self._pair(triples)
        place = torch.full_like(key, len(self.keys))
        if len(self.keys):
            found = torch.searchsorted(self.keys, key).clamp(max=len(self.keys) - 1)
            place = torch.where(self.keys[found] == key, found, place)
        columns = [
            torch.log((sums[:, 1] + prior) / (sums[:, 0] + prior))
            for sums, prior in ((self.relations[triples.relation], RELATION_PRIOR), (self.pairs[place], PAIR_PRIOR))
        ]
        return torch.stack(columns, dim=1)
