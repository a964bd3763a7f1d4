"""Groundings of rule bodies: chains of past facts that follow the relations of a rule."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from titer.graph.ragged import spread
from titer.models.tlogic.rules import NO_RELATION
from titer.models.tlogic.series_index import SeriesIndex

MAX_CHAINS = 1 << 21
"""Number of chains that are followed at once; more of them are followed in parts."""


@dataclass(frozen=True)
class Bodies:
    """A batch of rule bodies to ground, each from a subject and before a time."""

    subject: Tensor  # (bodies,)
    elapsed: Tensor  # (bodies,) the time of the query; facts must be earlier
    earliest: Tensor  # (bodies,) facts must not be earlier than this
    relation: Tensor  # (bodies, MAX_LENGTH) filled up with NO_RELATION
    same: Tensor  # (bodies, MAX_LENGTH + 1) for each variable, the first one that is the same entity


@dataclass(frozen=True)
class Chains:
    """Chains of series that follow the bodies of a batch, hop by hop.

    Of all groundings along one chain, only the latest matters: the one whose first fact is as late as possible. Its
    times are found backwards, from the last hop to the first: each fact is the latest of its series that is not later
    than the next one. So the number of chains does not grow with the number of times that facts are repeated.
    """

    body: Tensor  # (chains,) position of the body in the batch
    earliest: Tensor  # (chains,) a time before which the next fact cannot be
    series: Tensor  # (chains, hops)

    def __len__(self) -> int:
        return len(self.body)

    def __getitem__(self, rows: Tensor) -> "Chains":
        return Chains(self.body[rows], self.earliest[rows], self.series[rows])


def ground(bodies: Bodies, index: SeriesIndex) -> Iterator[tuple[Chains, Tensor]]:
    """Yield all chains with a grounding, in parts of one length each.

    Each part is followed by the time of the first fact of the latest grounding of each chain. (chains,)
    """
    number = torch.arange(len(bodies.subject), device=bodies.subject.device)
    yield from _follow(Chains(number, bodies.earliest, number.new_empty(len(number), 0)), bodies, index)


def times_of(chains: Chains, bodies: Bodies, index: SeriesIndex) -> Tensor:
    """Return the times of the latest grounding of chains that have one. (chains, hops)"""
    limit, times = bodies.elapsed[chains.body] - 1, []
    for hop in range(chains.series.shape[1] - 1, -1, -1):
        limit, _ = index.last_up_to(chains.series[:, hop], limit)
        times.insert(0, limit)
    return torch.stack(times, dim=1)


def entities_of(chains: Chains, bodies: Bodies, index: SeriesIndex) -> Tensor:
    """Return the entities along the chains, from the subject to the candidate. (chains, hops + 1)"""
    return torch.cat([bodies.subject[chains.body][:, None], index.object[chains.series]], dim=1)


def _follow(chains: Chains, bodies: Bodies, index: SeriesIndex) -> Iterator[tuple[Chains, Tensor]]:
    """Yield the complete chains that continue some chains."""
    hop = chains.series.shape[1]
    if hop:
        width = bodies.relation.shape[1]
        ended = bodies.relation[chains.body, hop] == NO_RELATION if hop < width else chains.body >= 0
        complete = ended.nonzero()[:, 0]
        if len(complete):
            yield _with_grounding(chains[complete], bodies, index)
            chains = chains[(~ended).nonzero()[:, 0]]
    if len(chains) == 0:
        return
    first, after = _next_series(chains, bodies, index)
    total = int((after - first).sum())
    for rows in torch.arange(len(chains), device=first.device).chunk(min(1 + total // MAX_CHAINS, len(chains))):
        owner, series = spread(first[rows], after[rows])
        owner = rows[owner]
        body, earliest, began = chains.body[owner], chains.earliest[owner], index.began[series]
        # A series that begins too late or ends too early cannot be part of a grounding.
        possible = ((began < bodies.elapsed[body]) & (index.ended[series] >= earliest)).nonzero()[:, 0]
        longer = torch.cat([chains.series[owner[possible]], series[possible, None]], dim=1)
        earliest = torch.maximum(earliest[possible], began[possible])
        yield from _follow(Chains(body[possible], earliest, longer), bodies, index)


def _next_series(chains: Chains, bodies: Bodies, index: SeriesIndex) -> tuple[Tensor, Tensor]:
    """Return the first series by which each chain can continue, and the one after the last. (chains,) each"""
    hop = chains.series.shape[1]
    subject = bodies.subject[chains.body]
    here = index.object[chains.series[:, -1]] if hop else subject
    relation = bodies.relation[chains.body, hop]
    first, after = index.series_of(here, relation)
    # Where the rule requires that the next entity is an earlier one, there is at most one series.
    same = bodies.same[chains.body, hop + 1]
    bound = (same <= hop).nonzero()[:, 0]
    if len(bound):
        same = same[bound]
        target = subject[bound]
        if hop:
            earlier = chains.series[bound, (same - 1).clamp(min=0)]
            target = torch.where(same == 0, target, index.object[earlier])
        first[bound], after[bound] = index.series_to(here[bound], relation[bound], target)
    return first, after


def _with_grounding(chains: Chains, bodies: Bodies, index: SeriesIndex) -> tuple[Chains, Tensor]:
    """Return the chains that have a grounding, and the time of the first fact of its latest one. (chains,)"""
    limit, earliest = bodies.elapsed[chains.body] - 1, bodies.earliest[chains.body]
    rows = torch.arange(len(chains), device=limit.device)
    for hop in range(chains.series.shape[1] - 1, -1, -1):
        time, exists = index.last_up_to(chains.series[rows, hop], limit)
        kept = (exists & (time >= earliest[rows])).nonzero()[:, 0]
        rows, limit = rows[kept], time[kept]
    return chains[rows], limit
