"""The part of the prior that is the same for all subjects: how frequent an answer is."""

import torch
from torch import Tensor, nn

from titer.graph.count_features import NUM_FEATURES, features_at
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.dropout import Dropout
from titer.models.path_mixture.entity_states import EntityStates
from titer.models.path_mixture.pair_dots import pair_dots
from titer.models.path_mixture.prior_plans import FrequencyPlan
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding


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
        frequency = self.usual(relation, self.activity(activity))
        if hidden is not None:
            frequency = frequency + hidden
        instead = self.instead(relation, activity, plan.row, plan.column, plan.features)
        index = plan.row.long() * len(activity) + plan.column
        return frequency.view(-1).index_add(0, index, instead).view(frequency.shape)

    def usual(self, relation: Tensor, activity: Tensor) -> Tensor:
        """Return the weights of answers that have never occurred with some relations, by the vectors of their activity.

        Shape (relations, answers), from (relations,) and (answers, relation_dim).
        """
        return self.never(relation) + self.activity_of(relation) @ activity.T

    def of_pairs(
        self, batch: QueryBatch, relation: Tensor, row: Tensor, answer: Tensor, entities: EntityStates
    ) -> Tensor:
        """Return the weights of some answers to some relations.

        Args:
            batch: The queries.
            relation: Some relations. Shape ``(relations,)``.
            row: The relation of each answer, as a position, ascending. Shape ``(pairs,)``.
            answer: The answers. Shape ``(pairs,)``.
            entities: The states of entities, which the answers are among.

        Returns:
            Shape ``(pairs,)``.
        """
        column, activity = entities.row(batch, answer), self.activity(entities.activity)
        found = pair_dots(self.never(relation)[:, 0], self.activity_of(relation), row, activity, column)
        event, occurred = batch.pair_index.last_answers(relation.index_select(0, row), answer, batch.elapsed)
        pair = occurred.nonzero()[:, 0]
        row, column, event = (each.index_select(0, pair) for each in (row, column, event))
        as_answer = features_at(batch.pair_index.answers, event, batch.elapsed)
        return found.index_add(0, pair, self.instead(relation, entities.activity, row, column, as_answer))

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
