"""The paths of several hops of a batch of queries: which there are, and where each leads to.

These plans depend on facts alone. ``paths.py`` computes the weights of the paths from them.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from titer.graph.ragged import spread
from titer.models.common.plan import Column, Renamed, Unplanned
from titer.models.path_mixture.query_batch import Distinct, Hop, QueryBatch
from titer.models.path_mixture.reached import Ends

NUM_KNOTS = 12
KNOTS_PER_DOUBLING = 1.2


@dataclass(frozen=True)
class Knots:
    """Where functions of log Δt, linear between knots, are evaluated: between which knots of which function."""

    index: Annotated[Tensor, Column("ages")]  # (ages,) or (ages, edges): position of the left knot in all functions
    share: Annotated[Tensor, Column("ages")]  # the same shape: the weight of the right knot

    @classmethod
    def of(cls, row: Tensor, age: Tensor) -> "Knots":
        """Return the knots around each age, of the function in each row."""
        place = torch.log2(age.clamp(min=1).float()) * KNOTS_PER_DOUBLING
        left = place.floor().clamp(max=NUM_KNOTS - 2)
        return cls(row * NUM_KNOTS + left.long(), (place - left).clamp(max=1))


@dataclass(frozen=True)
class FirstHops:
    """The latest edges of the subjects. Their kind is the pair of the query's relation and their own."""

    query: Annotated[Tensor, Column("kinds")]  # (kinds,) r
    past: Annotated[Tensor, Column("kinds")]  # (kinds,) r₁
    kind: Annotated[Tensor, Column("first", of="kinds")]  # (first,)
    knots: Annotated[Knots, Renamed({"ages": "first"})]  # of the function of each kind
    row: Annotated[Tensor, Unplanned()]  # (first,) the query
    subject: Annotated[Tensor, Unplanned()]  # (first,)
    relation: Annotated[Tensor, Unplanned()]  # (first,) of the query
    hop: Annotated[Hop, Unplanned()]

    @classmethod
    def of(cls, batch: QueryBatch, limit: int) -> "FirstHops":
        """Look up the first hops of a batch."""
        row, hop = batch.hops_from(batch.subject, limit)
        relation, num_relations = batch.relation.index_select(0, row), batch.num_relations
        kinds = Distinct.of(relation * num_relations + hop.relation)
        query = kinds.values // num_relations
        past = kinds.values - query * num_relations
        knots = Knots.of(kinds.place, hop.age)
        subject = batch.subject.index_select(0, row)
        return cls(query, past, kinds.place, knots, row, subject, relation, hop)


@dataclass(frozen=True)
class TwoHopsPlan:
    """Every first hop with the latest edges of the entity that it leads to, padded."""

    neighbour: Annotated[Tensor, Column("first", of="neighbours")]  # (first,) the group of second hops
    relation: Annotated[Tensor, Column("neighbours")]  # (neighbours, edges) of the second hop
    knots: Annotated[Knots, Renamed({"ages": "neighbours"})]  # (neighbours, edges)
    object: Annotated[Tensor, Unplanned()]  # (neighbours, edges) the answer; the padding entity without an edge
    age: Annotated[Tensor, Unplanned()]  # (neighbours, edges)
    first: Annotated[FirstHops, Unplanned()]

    @classmethod
    def of(cls, batch: QueryBatch, first: FirstHops, limit: int) -> "TwoHopsPlan":
        """Look up the second hops, once for each distinct neighbour."""
        neighbours = Distinct.of(first.hop.object)
        edges = batch.latest(neighbours.values, limit)
        relation, age = torch.where(edges.mask, edges.relation, 0), batch.time - edges.time
        return cls(neighbours.place, relation, Knots.of(relation, age), edges.object, age, first)

    @property
    def ends(self) -> Ends:
        """The query and the answer of each path; paths that return to the subject do not count."""
        return Ends(self.first.row, self.object, group=self.neighbour, except_for=self.first.subject)


@dataclass(frozen=True)
class TwoHopsSamePlan:
    """Every first hop with the latest answers of the entity that it leads to, to the relation of the query."""

    knots: Annotated[Knots, Renamed({"ages": "second"})]
    log_number: Annotated[Tensor, Column("second")]  # (second,)
    before: Annotated[Tensor, Column("same_paths", of="first")]  # (paths,) the first hop
    after: Annotated[Tensor, Column("same_paths", of="second")]  # (paths,) the second hop
    first: Annotated[FirstHops, Unplanned()]
    hop: Annotated[Hop, Unplanned()]  # (second,)

    @classmethod
    def of(cls, batch: QueryBatch, first: FirstHops, limit: int) -> "TwoHopsSamePlan":
        """Look up the second hops, once for each distinct neighbour and relation."""
        goals = Distinct.of(first.hop.object * batch.num_relations + first.relation)
        subject = goals.values // batch.num_relations
        found, hop, number = batch.answer_hops(subject, goals.values - subject * batch.num_relations, limit)
        bounds = torch.searchsorted(found, torch.arange(len(goals.values) + 1, device=found.device))
        start, end = bounds[:-1].index_select(0, goals.place), bounds[1:].index_select(0, goals.place)
        before, after = spread(start, end)
        onward = positions(hop.object.index_select(0, after) != first.subject.index_select(0, before))
        before, after = before.index_select(0, onward), after.index_select(0, onward)
        return cls(Knots.of(hop.relation, hop.age), torch.log(number), before, after, first, hop)

    @property
    def ends(self) -> Ends:
        """The query and the answer of each path."""
        return Ends(self.first.row.index_select(0, self.before), self.hop.object.index_select(0, self.after))


@dataclass(frozen=True)
class ThreeHopsSamePlan:
    """Paths over three facts of the query's relation, as a tree: every hop names the hop before it."""

    relation: Annotated[Tensor, Column("third_first")]  # (first,) of the query
    first: Annotated[Knots, Renamed({"ages": "third_first"})]
    second_before: Annotated[Tensor, Column("third_second", of="third_first")]  # (second,)
    second: Annotated[Knots, Renamed({"ages": "third_second"})]
    third_before: Annotated[Tensor, Column("third", of="third_second")]  # (third,)
    third: Annotated[Knots, Renamed({"ages": "third"})]
    log_number: Annotated[Tensor, Column("third")]  # (third,)
    row: Annotated[Tensor, Unplanned()]  # (third,) the query
    hops: Annotated[tuple[Hop, Hop, Hop], Unplanned()]  # (first,), (second,), (third,)

    @classmethod
    def of(cls, batch: QueryBatch, limit: int) -> "ThreeHopsSamePlan":
        """Look up all such paths."""
        inverse = batch.history.vocabulary.inverse
        row, first, _ = batch.answer_hops(batch.subject, batch.relation, limit)
        relation = first.relation
        second_before, second, _ = batch.answer_hops(first.object, inverse(relation), limit)
        others = positions(second.object != batch.subject.index_select(0, row).index_select(0, second_before))
        second_before, second = second_before.index_select(0, others), second[others]
        forward = relation.index_select(0, second_before)
        third_before, third, number = batch.answer_hops(second.object, forward, limit)
        earlier = second_before.index_select(0, third_before)
        onward = positions(third.object != first.object.index_select(0, earlier))
        third_before, third, number = (
            third_before.index_select(0, onward),
            third[onward],
            number.index_select(0, onward),
        )
        return cls(
            relation,
            Knots.of(relation, first.age),
            second_before,
            Knots.of(forward, second.age),
            third_before,
            Knots.of(third.relation, third.age),
            torch.log(number),
            row.index_select(0, earlier.index_select(0, onward)),
            (first, second, third),
        )

    @property
    def ends(self) -> Ends:
        """The query and the answer of each path."""
        return Ends(self.row, self.hops[2].object)


def positions(mask: Tensor) -> Tensor:
    """Return the positions of the true values; indexing several tensors with a mask would search it each time."""
    return mask.nonzero()[:, 0]
