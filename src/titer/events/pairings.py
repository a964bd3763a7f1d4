"""Facts that never occurred between two entities that had facts with other relations."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from titer.events.counts import GroupedCounts
from titer.events.index import LONG, LONGER, EventIndex
from titer.events.triples import Triples

MAX_PAIRS = 1000
"""Pairs of entities whose missing relations are candidates: those with the most recent facts."""
REVERSED = 0.5
"""Weight of the facts in the other direction beside those in the same."""
PRIOR = 5.0
"""Facts that the share of a relation of all facts counts as, beside those of an entity."""


@dataclass(frozen=True)
class Candidates:
    """Facts that never occurred, with a rough estimate of how likely they are."""

    triples: Triples
    score: Tensor  # (triples,)


class Pairings:
    """New relations between entities that had facts before.

    The rough score of (s, r, o) is the decayed count of the facts between s and o, times how much more often s and o
    have the relation than others. It only decides which facts the network looks at.
    """

    def __init__(self, index: EventIndex):
        self.index = index
        self.subject, self.object = index.pairs // index.num_entities, index.pairs % index.num_entities

    @cached_property
    def _directions(self) -> tuple[Tensor, Tensor]:
        """The groups of all pairs in the counts by pair, in both directions."""
        index = self.index
        reverse = self.object * index.num_entities + self.subject
        return index.by_pair.find(index.pairs), index.by_pair.find(reverse)

    def before(self, elapsed: int, number: int) -> Candidates:
        """Return the facts with the highest scores that did not occur before a time; only facts before it count."""
        index = self.index
        recent = index.by_pair.decayed_at(elapsed, LONG)
        rate = recent[self._directions[0]] + REVERSED * recent[self._directions[1]]
        rate = torch.where(self.subject == self.object, 0.0, rate)
        pair = _best(rate, MAX_PAIRS)
        subject, object = self.subject[pair], self.object[pair]
        relation = torch.arange(index.num_relations, device=pair.device)
        total = _counts(index.by_relation, relation, elapsed)
        usual = (total + 0.1) / (total + 0.1).sum()  # (relations,)
        score = rate[pair][:, None] / usual
        for entity, by_entity, by_both in (
            (subject, index.by_subject, index.by_subject_relation),
            (object, index.by_object, index.by_object_relation),
        ):
            both = _counts(by_both, (entity[:, None] * index.num_relations + relation).flatten(), elapsed)
            all_facts = _counts(by_entity, entity, elapsed)
            score = score * (both.view(score.shape) + PRIOR * usual) / (all_facts + PRIOR)[:, None]
        every = Triples(
            subject[:, None].expand(score.shape).flatten(),
            relation.expand(score.shape).flatten(),
            object[:, None].expand(score.shape).flatten(),
        )
        values = torch.where(index.occurred(every, elapsed), 0.0, score.flatten())
        kept = _best(values, number)
        return Candidates(every[kept], values[kept])


def _counts(counts: GroupedCounts, key: Tensor, elapsed: int) -> Tensor:
    """Return the decayed counts of keys before a time. (keys,)"""
    return counts.decayed_at(elapsed, LONGER)[counts.find(key)]


def _best(values: Tensor, number: int) -> Tensor:
    """Return the positions of the largest values above 0; of equal ones the first, whatever else there is."""
    known = (values > 0).nonzero()[:, 0]
    return known[torch.sort(values[known], descending=True, stable=True).indices[:number]]
