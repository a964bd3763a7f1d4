"""Candidates that never occurred, with what is known about them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.events.estimates import Estimates
from titer.events.feature_table import FeatureTable
from titer.events.network import IntensityNetwork
from titer.events.triples import Triples


@dataclass(frozen=True)
class NewFacts:
    """Facts that never occurred before a time.

    Those whose entities had other facts with each other have an intensity from the network, as facts that occurred
    before; all have estimates through the model.
    """

    triples: Triples
    estimates: Estimates
    paired: Tensor  # (facts,) whether the entities had other facts with each other
    codes: list[Tensor]  # one for each network: (facts, hidden); zero unless paired

    def __len__(self) -> int:
        return len(self.triples)

    def __getitem__(self, rows: Tensor) -> "NewFacts":
        codes = [code[rows] for code in self.codes]
        return NewFacts(self.triples[rows], self.estimates[rows], self.paired[rows], codes)


@torch.inference_mode()
def describe_new(
    networks: list[IntensityNetwork], table: FeatureTable, triples: Triples, estimates: Estimates
) -> NewFacts:
    """Return what is known about facts that never occurred before the time of a table."""
    index = table.index
    paired = index.had_pair(triples, table.elapsed)
    rows = paired.nonzero()[:, 0]
    part = triples[rows]
    features, bag = table.features_of_new(part), table.bag[index.find_pair(part)]
    codes: list[Tensor] = []
    for network in networks:
        code = network.encode(features, part.relation, network.pool(bag))
        codes.append(code.new_zeros((len(triples), code.shape[1])).index_copy(0, rows, code))
    return NewFacts(triples, estimates, paired, codes)


@torch.inference_mode()
def new_intensities(networks: list[IntensityNetwork], table: FeatureTable, new: NewFacts, ahead: int) -> Tensor:
    """Return the mean log intensities at a step ahead: of any occurrence, and of the first; 0 unless paired."""
    index, rows = table.index, new.paired.nonzero()[:, 0]
    part, times = new.triples[rows], torch.full_like(rows, table.elapsed)
    fact = index.by_triple.state(torch.full_like(rows, len(index.keys)), times)
    target = index.target_features(part, fact, times, torch.full_like(rows, ahead))
    recalled = table.recall(networks, index.find_pair(part), ahead)
    found = [
        network(code[rows], part.relation, past, target)
        for network, code, past in zip(networks, new.codes, recalled, strict=True)
    ]
    result = new.estimates.forward.new_zeros((len(new), 2))
    return result.index_copy(0, rows, torch.stack(found).mean(dim=0))
