"""A batch of queries of one time step, with the hops that paths can take before it.

Of the three clocks (see ``titer.graph``), the path mixture uses the age of a fact. Everything is converted to ages, and
back to times, here. Nothing here depends on the weights of a model, so the members of a mixture share it.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from titer.graph.history import Edges, History
from titer.graph.pair_index import PairIndex


@dataclass(frozen=True)
class Hop:
    """The facts that a batch of paths uses at one position: a row for each path."""

    relation: Tensor  # (paths,) directed
    object: Tensor  # (paths,) the entity that the hop leads to
    age: Tensor  # (paths,) time steps from the fact to the query, at least 1

    def __getitem__(self, rows: Tensor) -> "Hop":
        return Hop(*(column.index_select(0, rows) for column in (self.relation, self.object, self.age)))


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column, and the position among them of each value."""

    values: Tensor  # (distinct,) ascending
    place: Tensor  # (column,)

    @classmethod
    def of(cls, column: Tensor) -> "Distinct":
        """Find the distinct values of a column."""
        return cls(*torch.unique(column, return_inverse=True))


@dataclass(frozen=True)
class QueryBatch:
    """Queries (subject, relation, ?) of one time step, and the history before it."""

    subject: Tensor  # (queries,)
    relation: Tensor  # (queries,) directed
    time: int
    history: History

    def __len__(self) -> int:
        return len(self.subject)

    @property
    def pair_index(self) -> PairIndex:
        """The facts of the history by pair, relation and entity."""
        return self.history.pair_index

    @property
    def elapsed(self) -> int:
        """Time steps from the first fact of the history to the queries; 0 if there is no earlier fact."""
        return max(self.time - self.history.first_time, 0)

    @property
    def num_entities(self) -> int:
        """Number of possible answers."""
        return self.history.vocabulary.num_entities

    @property
    def num_relations(self) -> int:
        """Number of directed relations."""
        return self.history.vocabulary.num_directed_relations

    @cached_property
    def subjects(self) -> Distinct:
        """The distinct subjects: facts of a subject are looked up once for all of its queries."""
        return Distinct.of(self.subject)

    @cached_property
    def relations(self) -> Distinct:
        """The distinct relations of the queries."""
        return Distinct.of(self.relation)

    def time_of(self, age: int) -> int:
        """Return the time step of a fact of some age."""
        return self.time - age

    def latest(self, entity: Tensor, limit: int) -> Edges:
        """Return the latest edges of some entities before the queries. (entities, limit)"""
        return self.history.latest(entity, entity.new_full((len(entity),), self.time), limit)

    def hops_from(self, entity: Tensor, limit: int) -> tuple[Tensor, Hop]:
        """Return the latest edges of some entities as hops, preceded by the row of the entity that each begins at."""
        edges = self.latest(entity, limit)
        place = edges.mask.view(-1).nonzero()[:, 0]
        relation, object, time = (column.view(-1).index_select(0, place) for column in _columns(edges))
        return place // limit, Hop(relation, object, self.time - time)

    def answer_hops(self, subject: Tensor, relation: Tensor, limit: int) -> tuple[Tensor, Hop, Tensor]:
        """Return hops to the latest answers of (subject, relation, ?), each answer once.

        Returns the row of the subject that each hop begins at, the hops, and how often each fact has occurred.
        """
        found = self.pair_index.latest_answers(subject, relation, self.elapsed, limit)
        hop = Hop(relation.index_select(0, found.row), found.object, self.elapsed - found.elapsed)
        return found.row, hop, found.number


def _columns(edges: Edges) -> tuple[Tensor, Tensor, Tensor]:
    return edges.relation, edges.object, edges.time
