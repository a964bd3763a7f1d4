"""Features and states of entities at one time, for the prior."""

from dataclasses import dataclass

from torch import Tensor

from titer.models.path_mixture.query_batch import QueryBatch


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
