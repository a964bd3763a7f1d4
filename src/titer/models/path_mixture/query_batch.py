"""A batch of queries of one time step, with the hops that paths can take before it.

Of the three clocks (see ``titer.graph``), the path mixture uses the age of a fact. Everything is converted to ages, and
back to times, here. Nothing here depends on the weights of a model, so the members of a mixture share it.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from titer.graph.edges import Edges
from titer.graph.history import History
from titer.graph.pair_index import PairIndex, of_rows


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
class Groups:
    """Batches that are looked up together, each at its own time."""

    of_query: Tensor  # (queries,) the batch of each query, ascending
    time: Tensor  # (groups,)
    elapsed: Tensor  # (groups,) as ``QueryBatch.elapsed``
    num_known: list[int]  # (groups,) number of entities with a past fact

    def __len__(self) -> int:
        return len(self.num_known)


@dataclass(frozen=True)
class QueryBatch:
    """Queries (subject, relation, ?) of one time step, and the history before it.

    With ``groups``, these are the queries of several batches, whose look-ups share the time that the calls to a GPU
    take. An entity of a group is then named by a tag, a number of both, and ``time`` and ``elapsed`` do not apply.
    """

    subject: Tensor  # (queries,)
    relation: Tensor  # (queries,) directed
    time: int
    history: History
    groups: Groups | None = None

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
        return Distinct.of(self.tagged(self.subject))

    @cached_property
    def relations(self) -> Distinct:
        """The distinct relations of the queries; of each group, and with its tag, if there are several."""
        if self.groups is None:
            return Distinct.of(self.relation)
        return Distinct.of(self.relation + self.groups.of_query * self.num_relations)

    @property
    def distinct_relations(self) -> Tensor:
        """The distinct relations without tags. (distinct,)"""
        return self.relations.values if self.groups is None else self.relations.values % self.num_relations

    def time_of(self, age: int) -> int:
        """Return the time step of a fact of some age."""
        return self.time - age

    def tagged(self, entity: Tensor, row: Tensor | None = None) -> Tensor:
        """Return the tags of some entities, in the group of the query of each row; by default, one for each query."""
        if self.groups is None:
            return entity
        group = self.groups.of_query if row is None else self.groups.of_query.index_select(0, row)
        return entity + group * (self.num_entities + 1)  # the padding entity has a tag too

    def untagged(self, tag: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the entity and the group of each tag; no groups if there is only one."""
        if self.groups is None:
            return tag, None
        group = tag // (self.num_entities + 1)
        return tag - group * (self.num_entities + 1), group

    def group_of_row(self, row: Tensor) -> Tensor:
        """Return the group of some queries."""
        assert self.groups is not None
        return self.groups.of_query.index_select(0, row)

    def group_of_tag(self, tag: Tensor) -> Tensor:
        """Return the group of some entities."""
        return tag // (self.num_entities + 1)

    def group_of_relation(self, relation: Tensor) -> Tensor:
        """Return the group of some of the distinct relations."""
        return relation // self.num_relations

    def known(self) -> Tensor:
        """Return the tags of all entities with a past fact, in the order of their first facts, group by group."""
        index = self.pair_index
        if self.groups is None:
            return index.by_first[: index.num_known(self.elapsed)]
        stride = self.num_entities + 1
        return torch.cat([index.by_first[:size] + i * stride for i, size in enumerate(self.groups.num_known)])

    def elapsed_of(self, group: Tensor | None) -> int | Tensor:
        """Return ``elapsed`` of some groups: a number if there is only one."""
        return self.elapsed if group is None or self.groups is None else self.groups.elapsed.index_select(0, group)

    def latest(self, tag: Tensor, limit: int) -> Edges:
        """Return the latest edges of some entities before the queries. (entities, limit)"""
        entity, group = self.untagged(tag)
        return self.history.latest(entity, self._time_of(entity, group), limit)

    def ages(self, tag: Tensor, edges: Edges) -> Tensor:
        """Return the ages of the edges that ``latest`` found. (entities, limit)"""
        return self._time_of(*self.untagged(tag))[:, None] - edges.time

    def _time_of(self, entity: Tensor, group: Tensor | None) -> Tensor:
        if group is None or self.groups is None:
            return entity.new_full((len(entity),), self.time)
        return self.groups.time.index_select(0, group)

    def hops_from(self, tag: Tensor, limit: int) -> tuple[Tensor, Hop]:
        """Return the latest edges of some entities as hops, preceded by the row of the entity that each begins at."""
        edges = self.latest(tag, limit)
        place = edges.mask.view(-1).nonzero()[:, 0]
        columns = (edges.relation, edges.object, self.ages(tag, edges))
        return place // limit, Hop(*(column.view(-1).index_select(0, place) for column in columns))

    def answer_hops(self, tag: Tensor, relation: Tensor, limit: int) -> tuple[Tensor, Hop, Tensor]:
        """Return hops to the latest answers of (subject, relation, ?), each answer once.

        Returns the row of the subject that each hop begins at, the hops, and how often each fact has occurred.
        """
        subject, group = self.untagged(tag)
        elapsed = self.elapsed_of(group)
        found = self.pair_index.latest_answers(subject, relation, elapsed, limit)
        age = of_rows(elapsed, found.row) - found.elapsed
        return found.row, Hop(relation.index_select(0, found.row), found.object, age), found.number
