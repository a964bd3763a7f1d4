"""What is to be expected of an answer before any path to it is looked at."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.decayed_counts import NUM_FEATURES
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.names import Names
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding


@dataclass(frozen=True)
class Everyone:
    """What is known of all entities at one moment, whatever is asked."""

    activity: Tensor  # (entities, NUM_FEATURES) how often each appears
    has_past: Tensor  # (entities,) whether it appeared at all
    embedding: Tensor | None  # (entities, dim) e
    state: Tensor | None  # (entities, dim) h
    as_answer: Tensor | None  # (entities, dim) e + V h


@dataclass(frozen=True)
class Expectation:
    """What the prior says, and what it saw on the way."""

    prior: Tensor  # (questions, entities) π, a logarithm
    usual: Tensor  # (questions, entities) the part of π that does not know the subject
    activity: Tensor  # (entities, NUM_FEATURES) how often each entity appears
    habit: Tensor  # (questions, NUM_FEATURES) how often the subject has the question's relation


class Prior(nn.Module):
    r"""π(s, r, o): how usual the answer is, and how well it fits the question.

    .. math::
        \pi = \mathrm{usual}_r(o) + \mathrm{fit}(s, r, o)
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.num_entities = num_entities
        self.usual = Usual(num_relations, config)
        self.fit = Fit(num_entities, num_relations, config) if config.prior else None
        self._everyone = WeightKeyedCache[Everyone]()

    def forward(self, asked: QueryBatch, trained: Tensor) -> Expectation:
        """π for every answer of every question."""
        everyone = self._look_around(asked, trained)
        inverse = asked.history.vocabulary.inverse(asked.relation)
        habit = asked.pair_index.answer_features(inverse, asked.subject, asked.elapsed)
        # Many questions of a moment share their relation.
        relation, place = torch.unique(asked.relation, return_inverse=True)
        usual = self.usual(asked, relation, everyone.activity).index_select(0, place)
        prior = usual if self.fit is None else usual + self.fit(asked, habit, everyone)
        # Who came after training and has no past yet was not even known by name at the time of the question.
        unheard_of = ~everyone.has_past
        unheard_of[: self.num_entities] = False
        prior = prior.masked_fill(unheard_of, float("-inf"))
        return Expectation(prior, usual, everyone.activity, habit)

    def _look_around(self, asked: QueryBatch, trained: Tensor) -> Everyone:
        """What is known of all entities; computed once for all questions of a moment, where nothing is learned."""

        def look() -> Everyone:
            ids = torch.arange(asked.num_entities, device=asked.subject.device)
            activity, has_past = asked.pair_index.activity.features_of(ids, asked.elapsed)
            if self.fit is None:
                return Everyone(activity, has_past, None, None, None)
            # The history may know entities that came after training.
            usable = has_past & nn.functional.pad(trained, (0, asked.num_entities - len(trained)))
            return Everyone(activity, has_past, *self.fit.describe(asked, usable))

        if torch.is_grad_enabled() or self.training:
            return look()
        return self._everyone(self, asked.history, look, asked.time, also=(trained,))


class Usual(nn.Module):
    """How usual an answer is to a relation, whoever the subject: from how often it was, and how active it is."""

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

    def forward(self, asked: QueryBatch, relation: Tensor, activity: Tensor) -> Tensor:
        """How usual each answer is to each relation. (relations, entities)"""
        pair_index = asked.pair_index
        row, answer, event = pair_index.answers_before(relation, asked.elapsed)
        seen = pair_index.answers.features_at(event, asked.elapsed)
        asking = self.relation(relation).index_select(0, row)
        popularity = self.popularity(torch.cat([seen, activity[answer], asking], dim=1))
        usual = self.never(relation).expand(-1, asked.num_entities).reshape(-1)
        usual = usual.index_put((row * asked.num_entities + answer,), popularity[:, 0])
        return usual.view(len(relation), -1) + self.activity_of(relation) @ self.activity(activity).T


class Fit(nn.Module):
    r"""How well embeddings and states of subject and answer fit.

    .. math::
        \mathrm{fit} = \mathrm{MLP}[e_s, r, h_s, x_{sr}] \cdot (e_o + V h_o)

    The state h of an entity is made of its latest edges; e is its own embedding, which is nothing for entities that
    training never saw, and for those that have no past yet: so the model learns how to do without. What the words of
    its name say is added to it.
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
        self.question = nn.Sequential(
            nn.Linear(3 * dim + NUM_FEATURES, 2 * dim), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(2 * dim, dim)
        )
        self.answer_state = nn.Linear(dim, dim, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def describe(self, asked: QueryBatch, usable: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Embeddings and states of all entities, and both together as an answer has them. (entities, dim) each"""
        embedding = self._embeddings(asked, usable)
        state = self._states(asked, embedding)
        return embedding, state, embedding + self.answer_state(state)

    def forward(self, asked: QueryBatch, habit: Tensor, everyone: Everyone) -> Tensor:
        """The fit of every answer of every question. (questions, entities)"""
        embedding, state, as_answer = everyone.embedding, everyone.state, everyone.as_answer
        assert embedding is not None
        assert state is not None
        assert as_answer is not None
        subject, relation = asked.subject, self.relation(asked.relation)
        known = [
            self.dropout(embedding.index_select(0, subject)),
            relation,
            self.dropout(state.index_select(0, subject)),
            habit,
        ]
        return self.question(torch.cat(known, dim=1)) @ self.dropout(as_answer).T

    def _embeddings(self, asked: QueryBatch, usable: Tensor) -> Tensor:
        """Embeddings of all entities, without an own part for those that have none to use. (entities, dim)"""
        if self.training:
            usable = usable & (torch.rand(len(usable), device=usable.device) >= self.entity_dropout)
        # Entities may have come after training.
        own = functional.pad(self.entity.weight, (0, 0, 0, asked.num_entities - self.entity.num_embeddings))
        own = own * usable[:, None]
        return own if self.names is None else own + self.names(asked.history.vocabulary)

    def _states(self, asked: QueryBatch, embedding: Tensor) -> Tensor:
        """What the latest edges of every entity say about it. (entities, dim)"""
        everyone = torch.arange(asked.num_entities, device=embedding.device)
        edges = asked.latest(everyone, self.state_edges)
        share = edges.mask / edges.mask.sum(dim=1, keepdim=True).clamp(min=1)
        partner = torch.where(edges.mask, edges.object, 0)
        relation = torch.where(edges.mask, edges.relation, 0)
        mean = functional.embedding_bag(partner, embedding, per_sample_weights=share, mode="sum")
        # Relations are few: as a product with a matrix, the gradient need not be gathered edge by edge.
        shares = torch.zeros(len(share), self.relation.num_embeddings, device=share.device)
        mean = mean + shares.scatter_add(1, relation, share) @ self.relation.weight
        return torch.tanh(self.state(mean)) * edges.mask[:, :1]
