"""One mixture: the prior, the paths, and the trust in the paths to an answer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn

from titer.models.base import UNREACHED
from titer.models.common.plan import Column
from titer.models.common.row_pieces import row_pieces
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.direct import Direct
from titer.models.path_mixture.entity_states import EntityStates
from titer.models.path_mixture.loss import prior_matrix
from titer.models.path_mixture.names import Names
from titer.models.path_mixture.pair_dots import pair_dots
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.paths import (
    MAX_LOG_WEIGHT,
    GroupedPaths,
    Paths,
    ThreeHopsSame,
    TwoHops,
    TwoHopsSame,
    total_weight,
)
from titer.models.path_mixture.prior import Prior, PriorParts, PriorPlan
from titer.models.path_mixture.prior_plans import UNKNOWN, QueryPlan, rows_of
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.reach import ReachPlan
from titer.models.path_mixture.reached import Ends
from titer.models.path_mixture.sampled import CandidateLogits, Sample, is_listed
from titer.models.path_mixture.trust import PairInputs, Trust

TINY = 1e-9
"""Added to a sum of weights before its logarithm is used as a weight."""


@dataclass(frozen=True)
class MixturePlan:
    """What the weights of a batch are computed from, apart from the parameters."""

    prior: PriorPlan
    reach: ReachPlan
    column: Annotated[Tensor, Column("reached", fill=UNKNOWN)]  # (reached,) row of each reached answer


@dataclass(frozen=True)
class ScoringPlan:
    """The same outside of training, where the states of entities are kept from one time step to the next."""

    query: QueryPlan
    reach: ReachPlan
    column: Annotated[Tensor, Column("reached", fill=UNKNOWN)]  # (reached,) row of each reached answer


@dataclass(frozen=True)
class Weights:
    """The weights of answers: the prior of every candidate, and the weights along paths of those that paths reach."""

    parts: PriorParts
    matrix: Tensor | None  # (queries, known + 1) π of all candidates; None if it is computed in blocks
    prior: Tensor  # (reached,) π of each reached answer
    row: Tensor  # (reached,) the query of each reached answer
    column: Tensor  # (reached,) the column of the answer
    at: Tensor  # (reached,) its position in the flattened prior
    paths: Tensor  # (reached,) the total weight of all paths
    along: Tensor  # (reached,) log of e^φ Σ w, bounded from above
    longer: "Longer"

    @property
    def entities(self) -> EntityStates:
        """The candidates: a column for each entity with a past fact, and a last one for all others."""
        return self.parts.entities

    def parts_of(self, batch: QueryBatch, answer: int) -> tuple[float, float, float]:
        """Return π, the log of e^φ Σ w, and Σ w of one answer to the first query."""
        column = self.entities.row(batch, torch.tensor([answer], device=self.column.device))
        pair = ((self.column == column) & (self.row == 0)).nonzero()[:, 0]
        prior = float(self._prior(int(column), int(column) + 1)[0, 0])
        # No path leads to an entity without a past fact.
        if len(pair) == 0:
            return prior, UNREACHED, 0.0
        return prior, float(self.along[pair]), float(self.paths[pair])

    def log_weights(self, start: int, end: int) -> Tensor:
        """Return log(e^π + e^φ Σ w) of some columns. (queries, end - start)"""
        block = self._prior(start, end)
        combined = torch.logaddexp(self.prior, self.along)
        inside = ((self.column >= start) & (self.column < end)).nonzero()[:, 0]
        if len(inside) == len(self.column):
            index = self.row * (end - start) + self.column - start
        else:
            index = self.row.index_select(0, inside) * (end - start) + self.column.index_select(0, inside) - start
            combined = combined.index_select(0, inside)
        block.view(-1).index_copy_(0, index, combined)
        return block

    def pieces(self) -> Iterator[tuple[slice, Tensor]]:
        """Yield ranges of queries, and log(e^π + e^φ Σ w) of all columns for each, given the matrix of priors."""
        assert self.matrix is not None
        ranges, width = list(row_pieces(self.matrix)), self.matrix.shape[1]
        combined = torch.logaddexp(self.prior, self.along)
        bounds = [0, len(self.row)]
        if len(ranges) > 1:
            starts = torch.tensor([0, *(rows.stop for rows in ranges)], dtype=self.row.dtype, device=self.row.device)
            bounds = torch.searchsorted(self.row, starts).tolist()
        for rows, (first, last) in zip(ranges, pairwise(bounds), strict=True):
            piece = self.matrix[rows].clone()
            piece.view(-1).index_copy_(0, self.at[first:last] - rows.start * width, combined[first:last])
            yield rows, piece

    def _prior(self, start: int, end: int) -> Tensor:
        """Return a new tensor with π of some columns. (queries, end - start)"""
        if self.matrix is None:
            return self.parts.block(start, end)
        return self.matrix[:, start:end].clone(memory_format=torch.contiguous_format)


@dataclass(frozen=True)
class Longer:
    """The paths of two and more hops."""

    plan: ReachPlan
    two_hops: GroupedPaths | None = None
    two_hops_same: Tensor | None = None  # (paths,) their weights
    three_hops_same: Tensor | None = None  # (paths,) their weights

    def listed(self, num_entities: int) -> list[Paths]:
        """Return the paths one by one."""
        found: list[Paths] = []
        if self.two_hops is not None:
            found.append(self.two_hops.listed(num_entities))
        if self.plan.two_hops_same is not None and self.two_hops_same is not None:
            found.append(TwoHopsSame.listed(self.plan.two_hops_same, self.two_hops_same))
        if self.plan.three_hops_same is not None and self.three_hops_same is not None:
            found.append(ThreeHopsSame.listed(self.plan.three_hops_same, self.three_hops_same))
        return found


@dataclass(frozen=True)
class Reach:
    """The sums of the weights of the paths of a batch."""

    plan: ReachPlan
    longer: Longer
    weight: Tensor  # (query series,) the weight of each series
    kinds: list[Tensor]  # the total weight of each kind of path, (reached,) each
    total: Tensor  # (reached,) of all kinds


@dataclass(frozen=True)
class Listed:
    """The weights of reached answers and of other listed pairs."""

    plan: ReachPlan
    parts: PriorParts
    log_weight: Tensor  # (reached,) log(e^π + e^φ Σ w)


class Mixture(nn.Module):
    r"""The weight of an answer: the sum of a prior and the weights of all paths that lead to it.

    .. math::
        P(o \mid s, r, t) \propto e^{\pi(s, r, o)} + e^{\varphi(s, r, o)} \sum_{p: s \to o} w(p)
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.config = config
        self.prior = Prior(num_entities, num_relations, config)
        self.direct = Direct(num_relations) if config.direct else None
        longer: list[nn.Module] = []
        if config.two_hops:
            longer.append(TwoHops(num_relations, config))
        if config.same_relation:
            longer += [TwoHopsSame(num_relations, config), ThreeHopsSame(num_relations, config)]
        self.longer = nn.ModuleList(longer)
        self.trust = Trust(num_relations, config) if config.trust else None

    @property
    def names(self) -> Names | None:
        """The embeddings of names, if the mixture has them."""
        return self.prior.fit.names if self.prior.fit is not None else None

    def plan(self, batch: QueryBatch, trained: Tensor) -> MixturePlan:
        """Look up what ``forward`` reads of the facts; ``trained`` is the mask of entities with facts in training."""
        reach = ReachPlan.of(batch, self.config, [])
        return MixturePlan(self.prior.plan(batch, trained), reach, self._columns(batch, reach))

    def plan_scores(self, batch: QueryBatch) -> ScoringPlan:
        """Look up the same outside of training, apart from what is kept from one time step to the next."""
        reach = ReachPlan.of(batch, self.config, [])
        return ScoringPlan(self.prior.plan_queries(batch), reach, self._columns(batch, reach))

    @staticmethod
    def _columns(batch: QueryBatch, plan: ReachPlan) -> Tensor:
        return rows_of(batch, batch.tagged(plan.answer, plan.row))

    def forward(self, plan: MixturePlan) -> Weights:
        """Return the weights of all answers to queries of one time step."""
        parts = self.prior(plan.prior)
        return self._weights(parts, plan.reach, plan.column.clamp(max=parts.entities.num_known))

    def of_batch(self, batch: QueryBatch, plan: ScoringPlan, trained: Tensor) -> Weights:
        """Return the same outside of training, where states of entities are kept from one time step to the next."""
        return self._weights(self.prior.of_batch(batch, plan.query, trained), plan.reach, plan.column)

    def _weights(self, parts: PriorParts, plan: ReachPlan, column: Tensor) -> Weights:
        found, width = self.reach(parts.plan, plan), parts.entities.num_known + 1
        at = plan.row.long() * width + column
        if isinstance(parts.frequency, Tensor):
            matrix, prior = prior_matrix(parts.frequency, parts.relation, parts.query, parts.entities.as_answer, at)
            of_relation = parts.relation.index_select(0, plan.row).long() * width + column
            frequency = parts.frequency.view(-1).index_select(0, of_relation)
        else:
            matrix, (prior, frequency) = None, parts.at(plan.row, column)
        along = self.along(parts, found, column, prior, frequency)
        return Weights(parts, matrix, prior, plan.row, column, at, found.total, along, found.longer)

    def sampled(
        self, batch: QueryBatch, trained: Tensor, answers: Tensor, others: tuple[Tensor, Tensor], sample: Sample
    ) -> CandidateLogits:
        """Return the logits of reached answers, true answers and a sample of all other known entities.

        Args:
            batch: The queries.
            trained: The mask of entities with facts in training.
            answers: The true answers. Shape ``(queries,)``.
            others: Other true answers, as pairs (row, entity).
            sample: The sampled entities.
        """
        queries = torch.arange(len(batch), device=answers.device)
        listed = self.listed(batch, trained, [Ends(queries, answers), Ends(*others)], sample.entity)
        reached, parts, entities = listed.plan, listed.parts, listed.parts.entities
        relations, size = batch.relations.values, len(sample.entity)
        row = torch.arange(len(relations), device=relations.device).repeat_interleave(size)
        each = sample.entity.repeat(len(relations))
        of_sample = self.prior.frequency.of_pairs(batch, relations, row, each, entities)
        of_sample = of_sample.view(len(relations), size).index_select(0, parts.plan.place)
        of_sample = of_sample + parts.query @ entities.as_answer.index_select(0, entities.row(batch, sample.entity)).T
        activity = self.prior.frequency.activity(entities.activity[-1:])
        of_rest = self.prior.frequency.never(batch.relation)[:, 0]
        of_rest = of_rest + (self.prior.frequency.activity_of(batch.relation) @ activity.T)[:, 0]
        unknown = (entities.row(batch, reached.answer) == entities.num_known).float()
        num_known = batch.pair_index.num_known(batch.elapsed)
        return CandidateLogits(
            row=reached.row,
            pairs=listed.log_weight,
            excluded=reached.more_at[1],
            answer=reached.more_at[0],
            sample=of_sample,
            is_listed=is_listed(sample.entity, len(batch), reached.row, reached.answer, batch.num_entities),
            log_count=sample.log_count,
            rest=of_rest,
            num_rest=batch.num_entities - num_known - torch.zeros_like(of_rest).index_add_(0, reached.row, unknown),
            num_entities=batch.num_entities,
        )

    def listed(self, batch: QueryBatch, trained: Tensor, ends: list[Ends], more: Tensor) -> Listed:
        """Return the weights of reached answers and of other listed pairs, without looking at any other entity.

        Args:
            batch: The queries.
            trained: The mask of entities with facts in training.
            ends: Pairs of query and answer to list besides the reached.
            more: Further entities whose states to compute. Shape ``(entities,)``.
        """
        reached, index = ReachPlan.of(batch, self.config, ends), batch.pair_index
        seen = torch.zeros(batch.num_entities, dtype=torch.bool, device=more.device)
        for entity in (reached.answer, batch.subject, more):
            seen.index_fill_(0, entity, True)
        entity = positions(seen)
        known = index.rank.index_select(0, entity) < index.num_known(batch.elapsed)
        parts = self.prior.of_some(batch, trained, entity[known])
        frequency = self.prior.frequency.of_pairs(batch, batch.relation, reached.row, reached.answer, parts.entities)
        column = parts.entities.row(batch, reached.answer)
        nothing = parts.query.new_zeros(len(batch))
        prior = frequency + pair_dots(nothing, parts.query, reached.row, parts.entities.as_answer, column)
        along = self.along(parts, self.reach(parts.plan, reached), column, prior, frequency)
        return Listed(reached, parts, torch.logaddexp(prior, along))

    def of_candidates(self, batch: QueryBatch, trained: Tensor, candidates: Tensor) -> Tensor:
        """Return log(e^π + e^φ Σ w) of some candidates of each query. (queries, candidates)

        Args:
            batch: The queries.
            trained: The mask of entities with facts in training.
            candidates: Entity ids. Shape ``(queries, candidates)``.
        """
        row = torch.arange(len(batch), device=candidates.device).repeat_interleave(candidates.shape[1])
        given = Ends(row, candidates.reshape(-1))
        plan, reached = ReachPlan.among(batch, self.config, given)
        parts = self.prior.of_candidates(batch, trained, given.answer)
        frequency = self.prior.frequency.of_pairs(batch, batch.relation, row, given.answer, parts.entities)
        column = parts.entities.row(batch, given.answer)
        nothing = parts.query.new_zeros(len(batch))
        prior = frequency + pair_dots(nothing, parts.query, row, parts.entities.as_answer, column)
        # The paths to a candidate count once, also if it is given twice.
        hit = positions(reached > 0)
        slot = reached.index_select(0, hit).long() - 1
        at = torch.empty(len(plan.row), dtype=torch.int64, device=row.device).index_copy_(0, slot, hit)
        of_reached = (each.index_select(0, at) for each in (column, prior, frequency))
        along = self.along(parts, self.reach(parts.plan, plan), *of_reached)
        combined = torch.logaddexp(prior.index_select(0, hit), along.index_select(0, slot))
        return prior.index_copy(0, hit, combined).view(candidates.shape)

    def reach(self, query: QueryPlan, plan: ReachPlan) -> Reach:
        """Return the weights of all paths, summed by reached answer."""
        num_reached, facts = len(plan.row), plan.facts
        weight = torch.zeros(len(facts.query_series), device=plan.row.device)
        if self.direct is not None:
            weight = self.direct(query.relations, query.place, facts)
        kinds = [total_weight(weight, plan.series_slots, num_reached)]
        longer = Longer(plan)
        for kind in self.longer:
            if isinstance(kind, TwoHops):
                assert plan.two_hops_slots is not None
                longer = replace(longer, two_hops=kind(plan.first, plan.two_hops))
                assert longer.two_hops is not None
                kinds.append(longer.two_hops.total(plan.two_hops_slots, num_reached))
            elif isinstance(kind, TwoHopsSame):
                assert plan.two_hops_same_slots is not None
                longer = replace(longer, two_hops_same=kind(plan.first, plan.two_hops_same))
                assert longer.two_hops_same is not None
                kinds.append(total_weight(longer.two_hops_same, plan.two_hops_same_slots, num_reached))
            else:
                assert plan.three_hops_same_slots is not None
                longer = replace(longer, three_hops_same=kind(plan.three_hops_same))
                assert longer.three_hops_same is not None
                kinds.append(total_weight(longer.three_hops_same, plan.three_hops_same_slots, num_reached))
        return Reach(plan, longer, weight, kinds, torch.stack(kinds).sum(dim=0))

    def along(self, parts: PriorParts, found: Reach, column: Tensor, prior: Tensor, frequency: Tensor) -> Tensor:
        """Return the logarithm of the weight along paths to each reached answer; -inf without paths. (reached,)"""
        log_total = torch.log(found.total + TINY)
        if self.trust is not None:
            activity = parts.entities.activity[:, 3].index_select(0, column)
            inputs = PairInputs(found.kinds, prior, frequency, activity)
            log_total = log_total + self.trust(parts.plan, found.plan, inputs, found.weight)
        return torch.where(found.total > 0, log_total.clamp(max=MAX_LOG_WEIGHT), UNREACHED)
