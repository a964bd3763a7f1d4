"""What the prior reads of the facts before a batch of queries."""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from titer.graph.count_features import features_at, features_of
from titer.models.common.plan import Column, Renamed
from titer.models.path_mixture.bags import Bags
from titer.models.path_mixture.names import NameBags
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.query_batch import QueryBatch

UNKNOWN = torch.iinfo(torch.int32).max
"""Row of an entity without a past fact; it is limited to the last row, which all of them share."""


def rows_of(batch: QueryBatch, entity: Tensor) -> Tensor:
    """Return the row of each entity: its rank by first facts, and ``UNKNOWN`` without a past fact. (entities,)"""
    rank = batch.pair_index.rank.index_select(0, entity)
    return torch.where(rank < batch.pair_index.num_known(batch.elapsed), rank, UNKNOWN)


@dataclass(frozen=True)
class EntityPlan:
    """The entities with a past fact, in the order of their first facts."""

    entity: Annotated[Tensor, Column("known")]  # (known,) row of the embedding table
    # 1 for entities that have an embedding, 0 for entities without a fact in training.
    usable: Annotated[Tensor, Column("known")]  # (known,)
    hidden: Annotated[Tensor, Column("known", fill=-torch.inf)]  # (known,) 0, and -inf for padding
    activity: Annotated[Tensor, Column("known")]  # (known, NUM_FEATURES)
    names: Annotated[Bags | None, Renamed({"terms": "name_terms", "bags": "known"})]
    edges: Annotated[Bags | None, Renamed({"terms": "edge_terms", "bags": "known"})]


def plan_entities(known: Tensor, trained: Tensor) -> tuple[Tensor, Tensor]:
    """Return the row of the embedding table for some entities, and 1 for those that have one, else 0. (entities,)"""
    # Entities may have been added after training; they have no embedding of their own.
    place = known.clamp(max=len(trained) - 1)
    usable = (known < len(trained)) & trained.index_select(0, place)
    return place, usable.float()


def plan_edges(batch: QueryBatch, entities: Tensor, limit: int, row_of: Tensor) -> Bags:
    """Return the latest edges of entities: rows of a table of all relations, followed by embeddings of entities.

    Args:
        batch: The queries.
        entities: Entities with a past fact. Shape ``(entities,)``.
        limit: Maximum number of edges of an entity.
        row_of: The row of each entity among the embeddings. Shape ``(num_entities,)``.
    """
    edges = batch.latest(entities, limit)
    count = edges.mask.sum(dim=1)
    place = positions(edges.mask.view(-1))
    neighbour, relation = (column.view(-1).index_select(0, place) for column in (edges.object, edges.relation))
    # Every neighbour has a past fact too.
    terms = torch.stack([row_of.index_select(0, neighbour) + batch.num_relations, relation], dim=1)
    share = (1 / count).index_select(0, place // limit)[:, None].expand(-1, 2)
    return Bags(terms.view(-1), share.reshape(-1), 2 * count)


@dataclass(frozen=True)
class FrequencyPlan:
    """All answers to the distinct relations of a batch before its time."""

    relation: Annotated[Tensor, Column("relations")]  # (relations,) distinct
    row: Annotated[Tensor, Column("answers", of="relations")]  # (answers,) position of the relation
    column: Annotated[Tensor, Column("answers")]  # (answers,) row of the entity
    features: Annotated[Tensor, Column("answers")]  # (answers, NUM_FEATURES) of the answer to the relation

    @classmethod
    def of(cls, batch: QueryBatch, relation: Tensor) -> "FrequencyPlan":
        """Look up the answers to some relations."""
        row, answer, event = batch.pair_index.answers_before(relation, batch.elapsed)
        column = batch.pair_index.rank.index_select(0, answer)
        return cls(relation, row, column, features_at(batch.pair_index.answers, event, batch.elapsed))


@dataclass(frozen=True)
class QueryPlan:
    """The queries themselves."""

    relation: Annotated[Tensor, Column("queries")]  # (queries,)
    relations: Annotated[Tensor, Column("relations")]  # (relations,) distinct
    place: Annotated[Tensor, Column("queries", of="relations")]  # (queries,) among the distinct relations
    subject: Annotated[Tensor, Column("queries")]  # (queries,) row of the subject
    activity: Annotated[Tensor, Column("queries")]  # (queries, NUM_FEATURES) of the subject with the relation
    # A query names its own subject, whether it has a past fact or not.
    names: Annotated[Bags | None, Renamed({"terms": "subject_terms", "bags": "queries"})]

    @classmethod
    def of(cls, batch: QueryBatch, subject: Tensor, num_known: int, names: NameBags | None) -> "QueryPlan":
        """Look up what is known about the queries; ``subject`` is the row of each subject."""
        inverse = batch.history.vocabulary.inverse(batch.relation)
        activity = batch.pair_index.answer_features(inverse, batch.subject, batch.elapsed)
        bags = None if names is None else names.bags(batch.subject, subject >= num_known)
        return cls(batch.relation, batch.relations.values, batch.relations.place, subject, activity, bags)


def entity_activity(batch: QueryBatch, known: Tensor) -> Tensor:
    """Return features of all past facts of some entities. (entities, NUM_FEATURES)"""
    return features_of(batch.pair_index.activity, known, batch.elapsed)[0]
