"""The prior: the weight of an answer apart from any path to it."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.count_features import NUM_FEATURES, features_at, no_features
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.path_mixture.bags import Bags, sum_rows
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.dropout import Dropout
from titer.models.path_mixture.frequency_blocks import PAIRS_AT_ONCE, FrequencyBlocks
from titer.models.path_mixture.names import NameBags, Names
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.prior_plans import (
    EntityPlan,
    FrequencyPlan,
    QueryPlan,
    entity_activity,
    plan_edges,
    plan_entities,
    rows_of,
)
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding

MAX_WHOLE = 1 << 16
"""Number of known entities up to which the priors of all of them are held in one matrix outside of training."""


@dataclass(frozen=True)
class EntityStates:
    """What the prior computes for entities at one time, independently of the queries.

    There is a row for each entity with a past fact, in the order of the first facts, and a last row for all others:
    nothing is known about them, so they are all alike. (They have no past facts, and no embedding or name is used.)
    """

    num_known: int
    activity: Tensor  # (known + 1, NUM_FEATURES) features of all past facts
    embedding: Tensor  # (known + 1, dim) e; dim is 0 without embeddings
    state: Tensor  # (known + 1, dim) h
    as_answer: Tensor  # (known + 1, dim) e + V h
    frequency: "KeptFrequency | None" = None  # not in training, where weights change at every step
    row_of: Tensor | None = None  # (entities,) the row of each entity, if only some known entities have one

    def row(self, batch: QueryBatch, entity: Tensor) -> Tensor:
        """Return the row of each entity. (entities,)"""
        if self.row_of is not None:
            return self.row_of.index_select(0, entity)
        return batch.pair_index.rank.index_select(0, entity).clamp(max=self.num_known)


@dataclass(frozen=True)
class KeptFrequency:
    """The frequency terms that were needed so far at one time."""

    values: Tensor  # (relations, known + 1)
    known: Tensor  # (relations,) which of them have been computed


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
    frequency: Tensor | FrequencyBlocks  # (distinct relations, known + 1) what does not depend on the subject
    query: Tensor  # (queries, dim) to be multiplied with ``entities.as_answer``

    def block(self, start: int, end: int) -> Tensor:
        """Return π of some rows of entities; used with many entities, outside of training. (queries, end - start)"""
        assert isinstance(self.frequency, FrequencyBlocks)
        frequency = self.frequency.block(start, end).index_select(0, self.plan.place)
        return frequency.addmm_(self.query, self.entities.as_answer[start:end].T)

    def at(self, row: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
        """Return π and its frequency term for some pairs, as ``block`` does. (pairs,) each"""
        assert isinstance(self.frequency, FrequencyBlocks)
        frequency, fit = list[Tensor](), list[Tensor]()
        for rows, columns in zip(row.split(PAIRS_AT_ONCE), column.split(PAIRS_AT_ONCE), strict=True):
            frequency.append(self.frequency.at(self.plan.place.index_select(0, rows), columns))
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
        names = None if self.fit is None else self.fit.name_bags(batch)
        query = QueryPlan.of(batch, rows_of(batch, batch.subject), len(entities.entity), names)
        return PriorPlan(entities, FrequencyPlan.of(batch, batch.relations.values), query)

    def _plan_entities(self, batch: QueryBatch, trained: Tensor) -> EntityPlan:
        index = batch.pair_index
        known = index.by_first[: index.num_known(batch.elapsed)]
        place, usable = plan_entities(known, trained)
        names = edges = None
        if self.fit is not None:
            of_all = self.fit.name_bags(batch)
            names = None if of_all is None else of_all.bags(known)
            edges = plan_edges(batch, known, self.fit.state_edges, index.rank)
        return EntityPlan(place, usable, torch.zeros_like(usable), entity_activity(batch, known), names, edges)

    def forward(self, plan: PriorPlan) -> PriorParts:
        """Return the parts of π for all entities."""
        activity = functional.pad(plan.entities.activity, (0, 0, 0, 1))
        activity[-1] = no_features(activity.device)
        tables = (activity[:, :0],) * 3 if self.fit is None else self.fit.describe(plan.entities)
        entities = EntityStates(len(plan.entities.entity), activity, *tables)
        frequency = self.frequency(plan.frequency, activity, functional.pad(plan.entities.hidden, (0, 1)))
        return self._parts(plan.query, entities, frequency)

    def of_batch(self, batch: QueryBatch, trained: Tensor) -> PriorParts:
        """Return the same outside of training, where states are kept from one time step to the next."""
        entities = self._kept(batch, trained)
        names = None if self.fit is None else self.fit.name_bags(batch)
        plan = QueryPlan.of(batch, entities.row(batch, batch.subject), entities.num_known, names)
        whole = entities.num_known < MAX_WHOLE
        frequency = self._frequency(batch, entities) if whole else FrequencyBlocks(self.frequency, batch, entities)
        return self._parts(plan, entities, frequency)

    def of_some(self, batch: QueryBatch, trained: Tensor, known: Tensor) -> PriorParts:
        """Return the parts of π for some of the known entities, without the frequency. Used in training."""
        activity = torch.cat([entity_activity(batch, known), no_features(known.device)[None]])
        row_of = torch.full((batch.num_entities,), len(known), device=known.device)
        row_of[known] = torch.arange(len(known), device=known.device)
        names = None if self.fit is None else self.fit.name_bags(batch)
        tables = (activity[:, :0],) * 3 if self.fit is None else self.fit.describe_some(batch, known, trained)
        entities = EntityStates(len(known), activity, *tables, row_of=row_of)
        plan = QueryPlan.of(batch, entities.row(batch, batch.subject), len(known), names)
        return self._parts(plan, entities, activity[:0])

    def _parts(self, plan: QueryPlan, entities: EntityStates, frequency: Tensor | FrequencyBlocks) -> PriorParts:
        query = plan.activity[:, :0] if self.fit is None else self.fit(plan, entities)
        return PriorParts(entities, plan, frequency, query)

    def _kept(self, batch: QueryBatch, trained: Tensor) -> EntityStates:
        """Return the states of all entities; they are computed once for a time step."""
        num_known = batch.pair_index.num_known(batch.elapsed)
        known = batch.pair_index.by_first[:num_known]

        def compute(earlier: tuple[int, EntityStates] | None) -> EntityStates:
            activity = torch.cat([entity_activity(batch, known), no_features(known.device)[None]])
            if self.fit is None:
                return EntityStates(num_known, activity, *(activity[:, :0],) * 3)
            if earlier is None:
                return EntityStates(num_known, activity, *self.fit.describe(self._plan_entities(batch, trained)))
            return EntityStates(num_known, activity, *self.fit.update(batch, known, trained, *earlier))

        # One element: the time of the last result, and the result. It is valid as long as weights and history are.
        recent = self._recent(self, batch.history, list[tuple[int, EntityStates]], also=(trained,))
        last = recent[0] if recent else None
        if last is None or last[0] != batch.time:
            states = compute(last if last is not None and last[0] < batch.time else None)
            if num_known < MAX_WHOLE:
                size, device = self.frequency.never.num_embeddings, states.activity.device
                # Inference tensors could not be filled outside of inference mode.
                with torch.inference_mode(False):
                    values = torch.empty(size, num_known + 1, device=device)
                    computed = torch.zeros(size, dtype=torch.bool, device=device)
                states = replace(states, frequency=KeptFrequency(values, computed))
            last = batch.time, states
            recent[:] = [last]
        return last[1]

    def _frequency(self, batch: QueryBatch, entities: EntityStates) -> Tensor:
        """Return the frequency term for the distinct relations; it is kept for a time step."""
        relation, kept = batch.relations.values, entities.frequency
        assert kept is not None
        missing = relation[~kept.known.index_select(0, relation)]
        if len(missing):
            kept.values[missing] = self.frequency(FrequencyPlan.of(batch, missing), entities.activity)
            kept.known[missing] = True
        return kept.values.index_select(0, relation)


class Frequency(nn.Module):
    """The weight of an answer to a relation for any subject, from how often it was the answer and how active it is."""

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        hidden = config.hidden_dim
        self.never = RelationEmbedding(num_relations, 1)
        self.relation = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.popularity = nn.Sequential(
            nn.Linear(2 * NUM_FEATURES + config.relation_dim, hidden),
            nn.ReLU(),
            Dropout(config.dropout / 2),
            nn.Linear(hidden, 1),
        )
        self.activity = nn.Sequential(
            nn.Linear(NUM_FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, config.relation_dim)
        )
        self.activity_of = RelationEmbedding(num_relations, config.relation_dim, deviation=0.1)

    def forward(self, plan: FrequencyPlan, activity: Tensor, hidden: Tensor | None = None) -> Tensor:
        """Return the weight of each row of entities as an answer to some relations. (relations, known + 1)

        Args:
            plan: The relations, and all answers to them.
            activity: Features of all past facts of each row of entities. Shape ``(known + 1, NUM_FEATURES)``.
            hidden: Added to the weights: 0, or -inf for rows that are no entities. Shape ``(known + 1,)``.
        """
        relation = plan.relation
        frequency = self.never(relation) + self.activity_of(relation) @ self.activity(activity).T
        if hidden is not None:
            frequency = frequency + hidden
        instead = self.instead(relation, activity, plan.row, plan.column, plan.features)
        index = plan.row.long() * len(activity) + plan.column
        return frequency.view(-1).index_add(0, index, instead).view(frequency.shape)

    def of_pairs(self, batch: QueryBatch, relation: Tensor, answer: Tensor, entities: EntityStates) -> Tensor:
        """Return the weights of some answers to their relations. (pairs,)"""
        row = entities.row(batch, answer)
        activity = self.activity(entities.activity).index_select(0, row)
        found = self.never(relation)[:, 0] + (self.activity_of(relation) * activity).sum(dim=1)
        event, occurred = batch.pair_index.last_answers(relation, answer, batch.elapsed)
        pair = occurred.nonzero()[:, 0]
        relation, row, event = (column.index_select(0, pair) for column in (relation, row, event))
        place, index = torch.arange(len(pair), device=pair.device), batch.pair_index.answers
        as_answer = features_at(index, event, batch.elapsed)
        return found.index_add(0, pair, self.instead(relation, entities.activity, place, row, as_answer))

    def instead(self, relation: Tensor, activity: Tensor, row: Tensor, answer: Tensor, as_answer: Tensor) -> Tensor:
        """Return by how much the weights of answers that have occurred differ from the constant of their relation.

        Args:
            relation: Some relations. Shape ``(relations,)``.
            activity: Features of all past facts of each row of entities. Shape ``(known + 1, NUM_FEATURES)``.
            row: The relation of each answer, as a position. Shape ``(answers,)``.
            answer: The row of each answer. Shape ``(answers,)``.
            as_answer: Features of the answer to the relation. Shape ``(answers, NUM_FEATURES)``.

        Returns:
            Shape ``(answers,)``.
        """
        inputs = [as_answer, activity.index_select(0, answer), self.relation(relation).index_select(0, row)]
        popularity = self.popularity(torch.cat(inputs, dim=1))[:, 0]
        return popularity - self.never(relation)[:, 0].index_select(0, row)


class Fit(nn.Module):
    r"""The match between subject and answer, by their embeddings and states.

    .. math::
        \mathrm{fit} = \mathrm{MLP}[e_s, r, h_s, x_{sr}] \cdot (e_o + V h_o)

    The state h of an entity is computed from its latest edges, and e is its embedding plus the embedding of its name.
    The own embedding is zero for unseen entities, so that the model learns to do without it. For answers without a past
    fact everything is zero: that an entity exists, and its name, are not known before its first fact.
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        dim = config.dim
        self.state_edges, self.entity_dropout = config.state_edges, config.entity_dropout
        self.entity = nn.Embedding(num_entities, dim)
        nn.init.normal_(self.entity.weight, std=0.1)
        self.names = Names(dim) if config.names else None
        self.relation = RelationEmbedding(num_relations, dim, deviation=0.1)
        self.state = nn.Linear(dim, dim)
        self.query = nn.Sequential(
            nn.Linear(3 * dim + NUM_FEATURES, 2 * dim), nn.ReLU(), Dropout(config.dropout), nn.Linear(2 * dim, dim)
        )
        self.answer_state = nn.Linear(dim, dim, bias=False)
        self.dropout = Dropout(config.dropout)

    def name_bags(self, batch: QueryBatch) -> NameBags | None:
        """Return the names of all entities; None without names."""
        return None if self.names is None else self.names.bags_of(batch.history.vocabulary)

    def describe(self, plan: EntityPlan) -> tuple[Tensor, Tensor, Tensor]:
        """Return e, h and e + V h of all known entities, each followed by a row of zeros. (known + 1, dim) each"""
        assert plan.edges is not None
        embedding = self._embeddings(plan.entity, plan.usable, plan.names)
        state = self._states(plan.edges, embedding)
        as_answer = self.dropout(embedding + self.answer_state(state))
        embedding, state, as_answer = (functional.pad(each, (0, 0, 0, 1)) for each in (embedding, state, as_answer))
        return embedding, state, as_answer

    def describe_some(self, batch: QueryBatch, known: Tensor, trained: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same as ``describe`` for some of the known entities."""
        edges = batch.latest(known, self.state_edges)
        seen = torch.zeros(batch.num_entities + 1, dtype=torch.bool, device=known.device)
        seen.index_fill_(0, edges.object.view(-1), True).index_fill_(0, known, False)
        # Their neighbours follow; they need embeddings, but no states.
        listed = torch.cat([known, positions(seen[:-1])])
        row_of = torch.zeros(batch.num_entities, dtype=torch.int64, device=known.device)
        row_of[listed] = torch.arange(len(listed), device=known.device)
        embedding = self._embeddings_of(batch, listed, trained)
        state = self._states(plan_edges(batch, known, self.state_edges, row_of), embedding)
        embedding = embedding[: len(known)]
        as_answer = self.dropout(embedding + self.answer_state(state))
        embedding, state, as_answer = (functional.pad(each, (0, 0, 0, 1)) for each in (embedding, state, as_answer))
        return embedding, state, as_answer

    def update(
        self, batch: QueryBatch, known: Tensor, trained: Tensor, time: int, earlier: EntityStates
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same as ``describe`` outside of training, given the result for an earlier time.

        Only entities with facts since then are computed again: the embeddings of the others, and of their neighbours,
        do not change after their first fact.
        """
        since, until = (torch.full_like(known, at) for at in (time, batch.time))
        counts = (batch.history.count_before(known, at) for at in (since, until))
        changed = torch.ne(*counts).nonzero()[:, 0]
        num_new = len(known) - earlier.num_known
        new = self._embeddings_of(batch, known[earlier.num_known :], trained)
        embedding = torch.cat([earlier.embedding[:-1], new])
        bags = plan_edges(batch, known.index_select(0, changed), self.state_edges, batch.pair_index.rank)
        state = self._states(bags, embedding)
        as_answer = embedding.index_select(0, changed) + self.answer_state(state)
        larger = [functional.pad(each, (0, 0, 0, num_new)) for each in (earlier.state, earlier.as_answer)]
        for values, rows in zip(larger, (state, as_answer), strict=True):
            values.index_copy_(0, changed, rows)
        return functional.pad(embedding, (0, 0, 0, 1)), larger[0], larger[1]

    def forward(self, plan: QueryPlan, entities: EntityStates) -> Tensor:
        """Return the vector of every query, whose product with that of an answer is their fit. (queries, dim)"""
        subject, relation = plan.subject.clamp(max=entities.num_known), self.relation(plan.relation)
        embedding = entities.embedding.index_select(0, subject)
        if self.names is not None:
            assert plan.names is not None
            embedding = embedding + self.names(plan.names)
        inputs = [
            self.dropout(embedding),
            relation,
            self.dropout(entities.state.index_select(0, subject)),
            plan.activity,
        ]
        return self.query(torch.cat(inputs, dim=1))

    def _embeddings_of(self, batch: QueryBatch, known: Tensor, trained: Tensor) -> Tensor:
        """Return the embeddings of some entities with a past fact, plus those of their names. (entities, dim)"""
        names = self.name_bags(batch)
        return self._embeddings(*plan_entities(known, trained), None if names is None else names.bags(known))

    def _embeddings(self, entity: Tensor, usable: Tensor, names: Bags | None) -> Tensor:
        if self.training:
            usable = usable * (torch.rand(len(usable), device=usable.device) >= self.entity_dropout)
        own = self.entity.weight.index_select(0, entity) * usable[:, None]
        return own if self.names is None or names is None else own + self.names(names)

    def _states(self, edges: Bags, embedding: Tensor) -> Tensor:
        """Return the states of some entities, from the means of their latest edges. (entities, dim)"""
        return torch.tanh(self.state(sum_rows(torch.cat([self.relation.weight, embedding]), edges)))
