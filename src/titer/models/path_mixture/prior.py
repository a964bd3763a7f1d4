"""The prior: the weight of an answer apart from any path to it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.count_features import no_features
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.entity_states import EntityStates, KeptFrequency
from titer.models.path_mixture.fit import ENTITIES_AT_ONCE, Fit
from titer.models.path_mixture.frequency import Frequency
from titer.models.path_mixture.frequency_blocks import PAIRS_AT_ONCE, FrequencyBlocks
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.prior_plans import (
    EntityPlan,
    FrequencyPlan,
    QueryPlan,
    entity_activity,
    plan_edges,
    plan_entities,
)
from titer.models.path_mixture.query_batch import QueryBatch

MAX_WHOLE = 1 << 16
"""Number of known entities up to which the priors of all of them are held in one matrix outside of training."""
MAX_KEPT = 1 << 26
"""Number of frequency terms, of all relations and known entities, up to which those of a time step are kept."""


@dataclass(frozen=True)
class PriorPlan:
    """What the prior of all entities reads of the facts before a batch."""

    entities: EntityPlan
    frequency: FrequencyPlan
    query: QueryPlan


@dataclass(frozen=True)
class PriorParts:
    """The prior of a batch of queries as the product of two matrices, plus a term for each relation."""

    entities: EntityStates
    plan: QueryPlan
    frequency: Tensor | FrequencyBlocks  # (relations, known + 1) what does not depend on the subject
    relation: Tensor  # (queries,) the row of ``frequency`` of each query
    query: Tensor  # (queries, dim) to be multiplied with ``entities.as_answer``

    def block(self, start: int, end: int) -> Tensor:
        """Return π of some rows of entities; used with many entities, outside of training. (queries, end - start)"""
        assert isinstance(self.frequency, FrequencyBlocks)
        frequency = self.frequency.block(start, end).index_select(0, self.relation)
        return frequency.addmm_(self.query, self.entities.as_answer[start:end].T)

    def at(self, row: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
        """Return π and its frequency term for some pairs, as ``block`` does. (pairs,) each"""
        assert isinstance(self.frequency, FrequencyBlocks)
        frequency, fit = list[Tensor](), list[Tensor]()
        for rows, columns in zip(row.split(PAIRS_AT_ONCE), column.split(PAIRS_AT_ONCE), strict=True):
            frequency.append(self.frequency.at(self.relation.index_select(0, rows), columns))
            answer = self.entities.as_answer.index_select(0, columns)
            fit.append((self.query.index_select(0, rows) * answer).sum(dim=1))
        if not fit:
            return self.query.new_empty(0), self.query.new_empty(0)
        return torch.cat(frequency) + torch.cat(fit), torch.cat(frequency)


class Prior(nn.Module):
    r"""π(s, r, o): how frequent the answer is, and how well it fits the subject.

    .. math::
        \pi = \mathrm{frequency}_r(o) + \mathrm{fit}(s, r, o)
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.num_entities = num_entities
        self.frequency = Frequency(num_relations, config)
        self.fit = Fit(num_entities, num_relations, config) if config.prior else None
        self._recent = WeightKeyedCache[list[tuple[int, EntityStates]]]()

    def plan(self, batch: QueryBatch, trained: Tensor) -> PriorPlan:
        """Look up what ``forward`` reads; ``trained`` is the mask of entities with facts in training."""
        entities = self._plan_entities(batch, trained)
        frequency = FrequencyPlan.of(batch, batch.relations.values)
        return PriorPlan(entities, frequency, self.plan_queries(batch))

    def _plan_entities(self, batch: QueryBatch, trained: Tensor) -> EntityPlan:
        tags = batch.known()
        known, _ = batch.untagged(tags)
        place, usable = plan_entities(known, trained)
        names = edges = None
        if self.fit is not None:
            of_all = self.fit.name_bags(batch)
            names = None if of_all is None else of_all.bags(known)
            edges = plan_edges(batch, tags, self.fit.state_edges, batch.pair_index.rank)
        return EntityPlan(place, usable, torch.zeros_like(usable), entity_activity(batch, tags), names, edges)

    def forward(self, plan: PriorPlan) -> PriorParts:
        """Return the parts of π for all entities."""
        entities, hidden = self._entities(plan.entities), functional.pad(plan.entities.hidden, (0, 1))
        frequency = self.frequency(plan.frequency, entities.activity, hidden)
        return self._parts(plan.query, entities, frequency, plan.query.place)

    def parts_of(self, plan: PriorPlan) -> PriorParts:
        """Return the parts of π for all entities, without the frequency."""
        entities = self._entities(plan.entities)
        return self._parts(plan.query, entities, entities.activity[:0], plan.query.place)

    def _entities(self, plan: EntityPlan) -> EntityStates:
        activity = functional.pad(plan.activity, (0, 0, 0, 1))
        activity[-1] = no_features(activity.device)
        tables = _no_tables(activity) if self.fit is None else self.fit.describe(plan)
        return EntityStates(len(plan.entity), activity, *tables)

    def plan_queries(self, batch: QueryBatch) -> QueryPlan:
        """Look up what is known about the queries themselves."""
        return QueryPlan.of(batch, None if self.fit is None else self.fit.name_bags(batch))

    def of_batch(self, batch: QueryBatch, plan: QueryPlan, trained: Tensor) -> PriorParts:
        """Return the same outside of training, where states are kept from one time step to the next."""
        entities = self._kept(batch, trained)
        if entities.num_known >= MAX_WHOLE:
            return self._parts(plan, entities, FrequencyBlocks(self.frequency, batch, entities), plan.place)
        if entities.frequency is None:
            frequency = self.frequency(FrequencyPlan.of(batch, batch.relations.values), entities.activity)
            return self._parts(plan, entities, frequency, plan.place)
        return self._parts(plan, entities, self._frequency(batch, entities.frequency, entities), plan.relation)

    def of_some(self, batch: QueryBatch, trained: Tensor, known: Tensor) -> PriorParts:
        """Return the parts of π for some of the known entities, without the frequency."""
        activity = torch.cat([entity_activity(batch, known), no_features(known.device)[None]])
        row_of = torch.full((batch.num_entities,), len(known), device=known.device)
        row_of[known] = torch.arange(len(known), device=known.device)
        tables = _no_tables(activity) if self.fit is None else self.fit.describe_some(batch, known, trained)
        entities = EntityStates(len(known), activity, *tables, row_of=row_of)
        plan = replace(self.plan_queries(batch), subject=entities.row(batch, batch.subject))
        return self._parts(plan, entities, activity[:0], plan.place)

    def of_candidates(self, batch: QueryBatch, trained: Tensor, candidates: Tensor) -> PriorParts:
        """Return the parts of π for some candidates, without the frequency. Used outside of training.

        Args:
            batch: The queries.
            trained: The mask of entities with facts in training.
            candidates: Entity ids, some of them many times. Shape ``(candidates,)``.
        """
        index, num_known = batch.pair_index, batch.pair_index.num_known(batch.elapsed)
        if 2 * len(candidates) >= num_known:
            # Many candidates are most of the entities, whose states are kept from one time step to the next.
            entities, plan = self._kept(batch, trained), self.plan_queries(batch)
            return self._parts(plan, entities, entities.activity[:0], plan.place)
        seen = torch.zeros(batch.num_entities, dtype=torch.bool, device=candidates.device)
        seen.index_fill_(0, candidates, True).index_fill_(0, batch.subject, True)
        entity = positions(seen)
        return self.of_some(batch, trained, entity[index.rank.index_select(0, entity) < num_known])

    def _parts(
        self, plan: QueryPlan, entities: EntityStates, frequency: Tensor | FrequencyBlocks, relation: Tensor
    ) -> PriorParts:
        query = plan.activity[:, :0] if self.fit is None else self.fit(plan, entities)
        return PriorParts(entities, plan, frequency, relation, query)

    def _kept(self, batch: QueryBatch, trained: Tensor) -> EntityStates:
        """Return the states of all entities; they are computed once for a time step."""
        num_known = batch.pair_index.num_known(batch.elapsed)
        known = batch.pair_index.by_first[:num_known]

        def compute(earlier: tuple[int, EntityStates] | None) -> EntityStates:
            pieces = [entity_activity(batch, some) for some in known.split(ENTITIES_AT_ONCE)]
            activity = torch.cat([*pieces, no_features(known.device)[None]])
            if self.fit is None:
                return EntityStates(num_known, activity, *_no_tables(activity))
            return EntityStates(num_known, activity, *self.fit.describe_known(batch, known, trained, earlier))

        # One element: the time of the last result, and the result. It is valid as long as weights and history are.
        recent = self._recent(self, batch.history, list[tuple[int, EntityStates]], also=(trained,))
        last = recent[0] if recent else None
        if last is None or last[0] != batch.time:
            states = compute(last if last is not None and last[0] < batch.time else None)
            size, device = self.frequency.never.num_embeddings, states.activity.device
            if num_known < MAX_WHOLE and size * (num_known + 1) <= MAX_KEPT:
                # Inference tensors could not be filled outside of inference mode.
                with torch.inference_mode(False):
                    values = torch.empty(size, num_known + 1, device=device)
                    computed = torch.zeros(size, dtype=torch.bool, device=device)
                states = replace(states, frequency=KeptFrequency(values, computed))
            last = batch.time, states
            recent[:] = [last]
        return last[1]

    def _frequency(self, batch: QueryBatch, kept: KeptFrequency, entities: EntityStates) -> Tensor:
        """Return the frequency term of all relations, computed for those of the batch; it is kept for a time step."""
        relation = batch.relations.values
        missing = relation[~kept.known.index_select(0, relation)]
        if len(missing):
            found = self.frequency(FrequencyPlan.of(batch, missing), entities.activity)
            kept.values.index_copy_(0, missing, found)
            kept.known.index_fill_(0, missing, True)
        return kept.values


def _no_tables(activity: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return embeddings and states of no dimension. (known + 1, 0) each"""
    return activity[:, :0], activity[:, :0], activity[:, :0]
