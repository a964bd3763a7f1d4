"""The prior: the weight of an answer apart from any path to it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.count_features import NUM_FEATURES, features_at, features_of
from titer.models.base import UNREACHED
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.names import Names
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding


@dataclass(frozen=True)
class EntityStates:
    """What the prior computes for every entity at one time, independently of the queries."""

    activity: Tensor  # (entities, NUM_FEATURES) features of all its past facts
    has_past: Tensor  # (entities,) whether it has any past fact
    embedding: Tensor | None  # (entities, dim) e
    state: Tensor | None  # (entities, dim) h
    as_answer: Tensor | None  # (entities, dim) e + V h


@dataclass(frozen=True)
class PriorOutput:
    """The prior of a batch of queries, and intermediate results that the trust network uses."""

    prior: Tensor  # (queries, entities) π, a logarithm
    frequency: Tensor  # (queries, entities) the term of π that does not depend on the subject
    activity: Tensor  # (entities, NUM_FEATURES) features of all past facts of each entity
    subject_activity: Tensor  # (queries, NUM_FEATURES) features of the subject's past facts with the query's relation


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
        self._cache = WeightKeyedCache[EntityStates]()

    def forward(self, batch: QueryBatch, trained: Tensor) -> PriorOutput:
        """Return π of every answer to every query; ``trained`` is the mask of entities with facts in training."""
        entities = self._entities(batch, trained)
        inverse = batch.history.vocabulary.inverse(batch.relation)
        subject_activity = batch.pair_index.answer_features(inverse, batch.subject, batch.elapsed)
        # Many queries of a time step share their relation.
        relation, place = torch.unique(batch.relation, return_inverse=True)
        frequency = self.frequency(batch, relation, entities.activity).index_select(0, place)
        prior = frequency if self.fit is None else frequency + self.fit(batch, subject_activity, entities)
        # Entities added after training are no answers before their first fact.
        unknown = ~entities.has_past
        unknown[: self.num_entities] = False
        prior = prior.masked_fill(unknown, UNREACHED)
        return PriorOutput(prior, frequency, entities.activity, subject_activity)

    def _entities(self, batch: QueryBatch, trained: Tensor) -> EntityStates:
        """Return the states of all entities; outside of training, they are computed once for a time step."""

        def compute() -> EntityStates:
            ids = torch.arange(batch.num_entities, device=batch.subject.device)
            activity, has_past = features_of(batch.pair_index.activity, ids, batch.elapsed)
            if self.fit is None:
                return EntityStates(activity, has_past, None, None, None)
            # The history may have entities that were added after training.
            usable = has_past & functional.pad(trained, (0, batch.num_entities - len(trained)))
            return EntityStates(activity, has_past, *self.fit.describe(batch, usable, has_past))

        if torch.is_grad_enabled() or self.training:
            return compute()
        return self._cache(self, batch.history, compute, batch.time, also=(trained,))


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
            nn.Dropout(config.dropout / 2),
            nn.Linear(hidden, 1),
        )
        self.activity = nn.Sequential(
            nn.Linear(NUM_FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, config.relation_dim)
        )
        self.activity_of = RelationEmbedding(num_relations, config.relation_dim, deviation=0.1)

    def forward(self, batch: QueryBatch, relation: Tensor, activity: Tensor) -> Tensor:
        """Return the weight of each answer to each relation. (relations, entities)"""
        pair_index = batch.pair_index
        row, answer, event = pair_index.answers_before(relation, batch.elapsed)
        as_answer = features_at(pair_index.answers, event, batch.elapsed)
        embedding = self.relation(relation).index_select(0, row)
        popularity = self.popularity(torch.cat([as_answer, activity[answer], embedding], dim=1))
        frequency = self.never(relation).expand(-1, batch.num_entities).reshape(-1)
        frequency = frequency.index_put((row * batch.num_entities + answer,), popularity[:, 0])
        return frequency.view(len(relation), -1) + self.activity_of(relation) @ self.activity(activity).T


class Fit(nn.Module):
    r"""The match between subject and answer, by their embeddings and states.

    .. math::
        \mathrm{fit} = \mathrm{MLP}[e_s, r, h_s, x_{sr}] \cdot (e_o + V h_o)

    The state h of an entity is computed from its latest edges, and e is its embedding. The embedding is zero for
    unseen entities and for entities without a past fact, so that the model learns to do without it. The embedding of
    the entity's name is added to it; as an answer, an entity has a name only after its first fact.
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
            nn.Linear(3 * dim + NUM_FEATURES, 2 * dim), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(2 * dim, dim)
        )
        self.answer_state = nn.Linear(dim, dim, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def describe(self, batch: QueryBatch, usable: Tensor, has_past: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return e, h and e + V h of all entities; ``usable`` masks those with an embedding. (entities, dim) each"""
        embedding = self._embeddings(batch, usable)
        state = self._states(batch, embedding)
        # A query names its own subject. That any other entity will exist is not known before its first fact.
        return embedding, state, embedding * has_past[:, None] + self.answer_state(state)

    def forward(self, batch: QueryBatch, subject_activity: Tensor, entities: EntityStates) -> Tensor:
        """Return the fit of every answer to every query. (queries, entities)"""
        embedding, state, as_answer = entities.embedding, entities.state, entities.as_answer
        assert embedding is not None
        assert state is not None
        assert as_answer is not None
        subject, relation = batch.subject, self.relation(batch.relation)
        inputs = [
            self.dropout(embedding.index_select(0, subject)),
            relation,
            self.dropout(state.index_select(0, subject)),
            subject_activity,
        ]
        return self.query(torch.cat(inputs, dim=1)) @ self.dropout(as_answer).T

    def _embeddings(self, batch: QueryBatch, usable: Tensor) -> Tensor:
        """Return the embeddings of all entities: zero where not usable, plus those of their names. (entities, dim)"""
        if self.training:
            usable = usable & (torch.rand(len(usable), device=usable.device) >= self.entity_dropout)
        # Entities may have been added after training.
        own = functional.pad(self.entity.weight, (0, 0, 0, batch.num_entities - self.entity.num_embeddings))
        own = own * usable[:, None]
        return own if self.names is None else own + self.names(batch.history.vocabulary)

    def _states(self, batch: QueryBatch, embedding: Tensor) -> Tensor:
        """Return the states of all entities, from the means of their latest edges. (entities, dim)"""
        entities = torch.arange(batch.num_entities, device=embedding.device)
        edges = batch.latest(entities, self.state_edges)
        share = edges.mask / edges.mask.sum(dim=1, keepdim=True).clamp(min=1)
        neighbour = torch.where(edges.mask, edges.object, 0)
        relation = torch.where(edges.mask, edges.relation, 0)
        mean = functional.embedding_bag(neighbour, embedding, per_sample_weights=share, mode="sum")
        # There are few relations: with a matrix product, the gradient need not be gathered edge by edge.
        shares = torch.zeros(len(share), self.relation.num_embeddings, device=share.device)
        mean = mean + shares.scatter_add(1, relation, share) @ self.relation.weight
        return torch.tanh(self.state(mean)) * edges.mask[:, :1]
