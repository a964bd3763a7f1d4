"""Groundings of rule bodies: chains of past facts that follow the relations of a rule."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

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

    def __getitem__(self, rows: Tensor) -> "Bodies":
        return Bodies(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class Chains:
    """Chains of series that follow the bodies of a batch, hop by hop.

    Of all groundings along one chain, the latest matters: the one whose first fact is as late as possible. Its times
    are found backwards, from the last hop to the first: each fact is the latest of its series that is not later than
    the next one. So the number of chains does not grow with the number of repetitions of a fact.
    """

    body: Tensor  # (chains,) position of the body in the batch
    entities: tuple[Tensor, ...]  # for every variable so far: (chains,)
    series: tuple[Tensor, ...]  # for every hop so far: (chains,)
    times: tuple[Tensor, ...] = ()  # for every hop: (chains,) the times of the latest grounding, once complete

    def __len__(self) -> int:
        return len(self.body)

    def __getitem__(self, rows: Tensor) -> "Chains":
        columns = (tuple(column[rows] for column in group) for group in (self.entities, self.series, self.times))
        return Chains(self.body[rows], *columns)


def ground(bodies: Bodies, index: SeriesIndex) -> Iterator[Chains]:
    """Yield all groundings of the bodies, the latest of each chain of entities, in parts of one length each."""
    start = Chains(torch.arange(len(bodies.subject), device=bodies.subject.device), (bodies.subject,), ())
    yield from _follow(start, bodies, index)


def _follow(chains: Chains, bodies: Bodies, index: SeriesIndex) -> Iterator[Chains]:
    """Yield the complete groundings that continue some chains."""
    hop, width = len(chains.series), bodies.relation.shape[1]
    if hop and len(chains):
        # Bodies that have ended are complete.
        ended = bodies.relation[chains.body, hop] == NO_RELATION if hop < width else torch.ones_like(chains.body) > 0
        yield _latest(chains[ended], bodies, index)
        chains = chains[~ended]
    if len(chains) == 0:
        return
    first, after = index.series_of(chains.entities[-1], bodies.relation[chains.body, hop])
    total = int((after - first).sum())
    if total > MAX_CHAINS and len(chains) > 1:
        for rows in torch.arange(len(chains), device=first.device).chunk(1 + total // MAX_CHAINS):
            yield from _extend(chains[rows], first[rows], after[rows], bodies, index)
    else:
        yield from _extend(chains, first, after, bodies, index)


def _extend(chains: Chains, first: Tensor, after: Tensor, bodies: Bodies, index: SeriesIndex) -> Iterator[Chains]:
    """Yield the complete groundings that continue each chain by one of its next series."""
    owner, series = spread(first, after)
    body, object = chains.body[owner], index.object[series]
    # A series that begins too late cannot be part of a grounding.
    possible = index.began[series] < bodies.elapsed[body]
    variable = len(chains.entities)
    required = bodies.same[body, variable]
    for earlier in range(variable):
        possible &= (required != earlier) | (object == chains.entities[earlier][owner])
    rows = possible.nonzero()[:, 0]
    longer = chains[owner[rows]]
    yield from _follow(
        replace(longer, entities=(*longer.entities, object[rows]), series=(*longer.series, series[rows])), bodies, index
    )


def _latest(chains: Chains, bodies: Bodies, index: SeriesIndex) -> Chains:
    """Return the chains that have a grounding, with the times of the latest one."""
    limit = bodies.elapsed[chains.body] - 1
    for hop in range(len(chains.series) - 1, -1, -1):
        time, exists = index.last_up_to(chains.series[hop], limit)
        # The first fact is the earliest, but the others bound it: too old a fact of any hop ends the chain.
        rows = (exists & (time >= bodies.earliest[chains.body])).nonzero()[:, 0]
        limit = time[rows]
        chains = chains[rows]
        chains = replace(chains, times=(limit, *chains.times))
    return chains
