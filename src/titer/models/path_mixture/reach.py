"""All paths of a batch of queries, and the answers that they reach."""

from dataclasses import dataclass
from typing import Annotated

from torch import Tensor

from titer.models.common.plan import Column, Unplanned
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.direct import PastFacts
from titer.models.path_mixture.path_plans import FirstHops, ThreeHopsSamePlan, TwoHopsPlan, TwoHopsSamePlan
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.reached import Ends, Reached


@dataclass(frozen=True)
class ReachPlan:
    """The paths of each kind, and which reached answer each of them leads to.

    Slots are counted from 1; paths with the slot 0 do not count.
    """

    row: Annotated[Tensor, Column("reached", of="queries")]  # (reached,) the query of each reached answer, ascending
    facts: PastFacts
    series_slots: Annotated[Tensor, Column("query_series", slot_of="reached")]  # (query series,)
    pair_at: Annotated[Tensor, Column("query_pairs", of="reached")]  # (query pairs,) the reached answer, from 0
    same_at: Annotated[Tensor, Column("same_series", of="reached")]  # (same series,) the reached answer, from 0
    first: FirstHops | None
    two_hops: TwoHopsPlan | None
    two_hops_slots: Annotated[Tensor | None, Column("first", slot_of="reached")]  # (first, edges)
    two_hops_same: TwoHopsSamePlan | None
    two_hops_same_slots: Annotated[Tensor | None, Column("same_paths", slot_of="reached")]  # (paths,)
    three_hops_same: ThreeHopsSamePlan | None
    three_hops_same_slots: Annotated[Tensor | None, Column("third", slot_of="reached")]  # (paths,)
    answer: Annotated[Tensor, Unplanned()]  # (reached,)
    more_at: Annotated[list[Tensor], Unplanned()]  # the pairs that were listed besides the reached answers, from 0

    @classmethod
    def of(cls, batch: QueryBatch, config: PathMixtureConfig, more: list[Ends]) -> "ReachPlan":
        """Look up all paths; ``more`` are pairs of query and answer to list besides those that paths reach."""
        facts = PastFacts.of(batch, config.past_edges)
        first = two_hops = two_hops_same = three_hops_same = None
        if config.two_hops or config.same_relation:
            first = FirstHops.of(batch, config.first_edges)
            if config.two_hops:
                two_hops = TwoHopsPlan.of(batch, first, config.second_edges)
            if config.same_relation:
                two_hops_same = TwoHopsSamePlan.of(batch, first, config.same_edges)
                three_hops_same = ThreeHopsSamePlan.of(batch, config.same_edges)
        kinds = (two_hops, two_hops_same, three_hops_same)
        ends = [facts.ends, *(kind.ends for kind in kinds if kind is not None)]
        reached = Reached(len(batch), batch.num_entities, [*ends, *more])
        pair_slots, *slots = reached.slots[: len(ends)]
        of_kind = iter(slots)
        of_kinds = [None if kind is None else next(of_kind) for kind in kinds]
        series_slots = pair_slots.index_select(0, facts.series_end)
        return cls(
            row=reached.row,
            facts=facts,
            series_slots=series_slots,
            pair_at=pair_slots - 1,
            same_at=series_slots.index_select(0, facts.same) - 1,
            first=first,
            two_hops=two_hops,
            two_hops_slots=of_kinds[0],
            two_hops_same=two_hops_same,
            two_hops_same_slots=of_kinds[1],
            three_hops_same=three_hops_same,
            three_hops_same_slots=of_kinds[2],
            answer=reached.answer,
            more_at=[each.long() - 1 for each in reached.slots[len(ends) :]],
        )

    def groups(self, batch: QueryBatch) -> dict[str, Tensor]:
        """Return the group of each row of every dimension, ascending."""
        found = {"reached": batch.group_of_row(self.row), **self.facts.groups(batch)}
        for kind in (self.first, self.two_hops, self.two_hops_same, self.three_hops_same):
            if kind is not None:
                found |= kind.groups(batch)
        return found
