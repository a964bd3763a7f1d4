"""All paths of a batch of queries, and the answers that they reach."""

from dataclasses import dataclass, replace
from typing import Annotated

from torch import Tensor

from titer.models.common.plan import Column, Unplanned
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.direct import PastFacts
from titer.models.path_mixture.path_plans import (
    FirstHops,
    ThreeHopsSamePlan,
    TwoHopsPlan,
    TwoHopsSamePlan,
    positions,
)
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.reached import Ends, Reached, ReachedAmong


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
        found = _Found.of(batch, config)
        reached = Reached(len(batch), batch.num_entities, [*found.ends, *more])
        return cls._of(found, reached.row, reached.answer, reached.slots)

    @classmethod
    def among(cls, batch: QueryBatch, config: PathMixtureConfig, given: Ends) -> "tuple[ReachPlan, Tensor]":
        """Look up all paths to some pairs of query and answer, and no others.

        Returns:
            The plan, and for each given pair its reached answer, counted from 1; 0 if no path leads there.
        """
        found = _Found.of(batch, config)
        reached = ReachedAmong(batch.num_entities, found.ends, given)
        pairs, of_series = positions(reached.slots[0] > 0), found.facts.series_end.index_select(0, found.facts.same)
        same = positions(reached.slots[0].index_select(0, of_series) > 0)
        plan = cls._of(found, reached.row, reached.answer, reached.slots)
        facts = plan.facts.some(pairs, same)
        pair_at, same_at = plan.pair_at.index_select(0, pairs), plan.same_at.index_select(0, same)
        return replace(plan, facts=facts, pair_at=pair_at, same_at=same_at), reached.of_given

    @classmethod
    def _of(cls, found: "_Found", row: Tensor, answer: Tensor, slots: list[Tensor]) -> "ReachPlan":
        facts, num_kinds = found.facts, len(found.ends)
        pair_slots, of_kind = slots[0], iter(slots[1:num_kinds])
        of_kinds = [None if kind is None else next(of_kind) for kind in found.kinds]
        series_slots = pair_slots.index_select(0, facts.series_end)
        return cls(
            row=row,
            facts=facts,
            series_slots=series_slots,
            pair_at=pair_slots - 1,
            same_at=series_slots.index_select(0, facts.same) - 1,
            first=found.first,
            two_hops=found.two_hops,
            two_hops_slots=of_kinds[0],
            two_hops_same=found.two_hops_same,
            two_hops_same_slots=of_kinds[1],
            three_hops_same=found.three_hops_same,
            three_hops_same_slots=of_kinds[2],
            answer=answer,
            more_at=[each.long() - 1 for each in slots[num_kinds:]],
        )

    def groups(self, batch: QueryBatch) -> dict[str, Tensor]:
        """Return the group of each row of every dimension, ascending."""
        found = {"reached": batch.group_of_row(self.row), **self.facts.groups(batch)}
        for kind in (self.first, self.two_hops, self.two_hops_same, self.three_hops_same):
            if kind is not None:
                found |= kind.groups(batch)
        return found


@dataclass(frozen=True)
class _Found:
    """The paths of each kind, before it is known which answers they reach."""

    facts: PastFacts
    first: FirstHops | None = None
    two_hops: TwoHopsPlan | None = None
    two_hops_same: TwoHopsSamePlan | None = None
    three_hops_same: ThreeHopsSamePlan | None = None

    @classmethod
    def of(cls, batch: QueryBatch, config: PathMixtureConfig) -> "_Found":
        facts = PastFacts.of(batch, config.past_edges)
        if not (config.two_hops or config.same_relation):
            return cls(facts)
        first = FirstHops.of(batch, config.first_edges)
        return cls(
            facts,
            first,
            TwoHopsPlan.of(batch, first, config.second_edges) if config.two_hops else None,
            TwoHopsSamePlan.of(batch, first, config.same_edges) if config.same_relation else None,
            ThreeHopsSamePlan.of(batch, config.same_edges) if config.same_relation else None,
        )

    @property
    def kinds(self) -> tuple[TwoHopsPlan | None, TwoHopsSamePlan | None, ThreeHopsSamePlan | None]:
        """The paths of several hops."""
        return self.two_hops, self.two_hops_same, self.three_hops_same

    @property
    def ends(self) -> list[Ends]:
        """The query and the answer of each path, by kind."""
        return [self.facts.ends, *(kind.ends for kind in self.kinds if kind is not None)]
