"""What is to be expected of an answer before any path to it is looked at."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.ledger import NUM_FEATURES
from titer.models.path_mixture.asked import Asked
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.paths import Table


@dataclass(frozen=True)
class Expectation:
    """What the prior says, and what it saw on the way."""

    prior: Tensor  # (questions, entities) π, a logarithm
    usual: Tensor  # (questions, entities) the part of π that does not know the subject
    activity: Tensor  # (entities, NUM_FEATURES) how often each entity appears
    habit: Tensor  # (questions, NUM_FEATURES) how often the subject has the question's relation


class Prior(nn.Module):
    r"""π(s, r, o): how well embeddings and states of subject and answer fit, and how usual the answer is.

    .. math::
        \pi = \mathrm{MLP}[e_s, r, h_s, x_{sr}] \cdot (e_o + V h_o) + \mathrm{usual}_r(o)

    The state h of an entity is made of its latest edges; e is its own embedding, which is nothing for entities that
    training never saw, and for those that have no past yet: so the model learns how to do without.
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        dim, hidden = config.dim, config.hidden_dim
        self.config = config
        self.entity = nn.Embedding(num_entities, dim)
        nn.init.normal_(self.entity.weight, std=0.1)
        self.relation = Table(num_relations, dim, deviation=0.1)
        self.state = nn.Linear(dim, dim)
        self.question = nn.Sequential(
            nn.Linear(3 * dim + NUM_FEATURES, 2 * dim), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(2 * dim, dim)
        )
        self.answer_state = nn.Linear(dim, dim, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        # How usual an answer is.
        self.never = Table(num_relations, 1)
        self.small_relation = Table(num_relations, config.relation_dim, deviation=0.3)
        self.popularity = nn.Sequential(
            nn.Linear(2 * NUM_FEATURES + config.relation_dim, hidden),
            nn.ReLU(),
            nn.Dropout(config.dropout / 2),
            nn.Linear(hidden, 1),
        )
        self.activity = nn.Sequential(
            nn.Linear(NUM_FEATURES, hidden), nn.ReLU(), nn.Linear(hidden, config.relation_dim)
        )
        self.activity_of = Table(num_relations, config.relation_dim, deviation=0.1)

    def forward(self, asked: Asked, trained: Tensor) -> Expectation:
        """π for every answer of every question."""
        chronicle = asked.chronicle
        everyone = torch.arange(asked.num_entities, device=asked.subject.device)
        activity, has_past = chronicle.activity.features_of(everyone, asked.elapsed)
        inverse = asked.history.vocabulary.inverse(asked.relation)
        habit = chronicle.answer_features(inverse, asked.subject, asked.elapsed)
        # Many questions of a moment share their relation.
        relation, place = torch.unique(asked.relation, return_inverse=True)
        usual = self._usual(asked, relation, activity)[place]
        prior = usual + self._fit(asked, habit, has_past, trained) if self.config.prior else usual
        # Who came after training and has no past yet was not even known by name at the time of the question.
        unheard_of = ~has_past & (everyone >= self.entity.num_embeddings)
        prior = prior.masked_fill(unheard_of, float("-inf"))
        return Expectation(prior, usual, activity, habit)

    def _usual(self, asked: Asked, relation: Tensor, activity: Tensor) -> Tensor:
        """How usual each answer is to each relation, whoever the subject. (relations, entities)"""
        chronicle = asked.chronicle
        row, answer, event = chronicle.answers_before(relation, asked.elapsed)
        seen = chronicle.answers.features_at(event, asked.elapsed)
        popularity = self.popularity(torch.cat([seen, activity[answer], self.small_relation(relation)[row]], dim=1))
        usual = self.never(relation).expand(-1, asked.num_entities).reshape(-1)
        usual = usual.index_put((row * asked.num_entities + answer,), popularity[:, 0])
        return usual.view(len(relation), -1) + self.activity_of(relation) @ self.activity(activity).T

    def _fit(self, asked: Asked, habit: Tensor, has_past: Tensor, trained: Tensor) -> Tensor:
        """How well embeddings and states fit. (questions, entities)"""
        embedding = self._embeddings(asked, has_past & trained)
        state = self._states(asked, embedding)
        subject, relation = asked.subject, self.relation(asked.relation)
        known = [self.dropout(embedding[subject]), relation, self.dropout(state[subject]), habit]
        answers = self.dropout(embedding + self.answer_state(state))
        return self.question(torch.cat(known, dim=1)) @ answers.T

    def _embeddings(self, asked: Asked, usable: Tensor) -> Tensor:
        """Embeddings of all entities, nothing for those that have none to use. (entities, dim)"""
        if self.training:
            usable = usable & (torch.rand(len(usable), device=usable.device) >= self.config.entity_dropout)
        # Entities may have come after training.
        weight = functional.pad(self.entity.weight, (0, 0, 0, asked.num_entities - self.entity.num_embeddings))
        return weight * usable[:, None]

    def _states(self, asked: Asked, embedding: Tensor) -> Tensor:
        """What the latest edges of every entity say about it. (entities, dim)"""
        everyone = torch.arange(asked.num_entities, device=embedding.device)
        edges = asked.latest(everyone, self.config.state_edges)
        share = edges.mask / edges.mask.sum(dim=1, keepdim=True).clamp(min=1)
        partner = torch.where(edges.mask, edges.object, 0)
        relation = torch.where(edges.mask, edges.relation, 0)
        mean = functional.embedding_bag(partner, embedding, per_sample_weights=share, mode="sum")
        mean = mean + functional.embedding_bag(relation, self.relation.weight, per_sample_weights=share, mode="sum")
        return torch.tanh(self.state(mean)) * edges.mask[:, :1]
