"""A batch of queries of one time step, with the hops that paths can take before it.

Of the three clocks (see ``titer.graph``), the path mixture uses the age of a fact. Everything is converted to ages, and
back to times, here.
"""

from dataclasses import dataclass, field

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
        return Hop(self.relation[rows], self.object[rows], self.age[rows])


@dataclass(frozen=True)
class QueryBatch:
    """Queries (subject, relation, ?) of one time step, and the history before it."""

    subject: Tensor  # (queries,)
    relation: Tensor  # (queries,) directed
    time: int
    history: History
    _first_hops: dict[int, tuple[Tensor, Hop]] = field(default_factory=dict[int, tuple[Tensor, Hop]], init=False)

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

    def time_of(self, age: int) -> int:
        """Return the time step of a fact of some age."""
        return self.time - age

    def latest(self, entity: Tensor, limit: int) -> Edges:
        """Return the latest edges of some entities before the queries. (entities, limit)"""
        return self.history.latest(entity, entity.new_full((len(entity),), self.time), limit)

    def hops_from(self, entity: Tensor, limit: int) -> tuple[Tensor, Hop]:
        """Return the latest edges of some entities as hops, preceded by the row of the entity that each begins at."""
        edges = self.latest(entity, limit)
        place = edges.mask.nonzero(as_tuple=True)
        return place[0], Hop(edges.relation[place], edges.object[place], self.time - edges.time[place])

    def first_hops(self, limit: int) -> tuple[Tensor, Hop]:
        """Return ``hops_from`` the subjects; cached, because several kinds of paths begin with them."""
        if limit not in self._first_hops:
            self._first_hops[limit] = self.hops_from(self.subject, limit)
        return self._first_hops[limit]

    def answer_hops(self, subject: Tensor, relation: Tensor, limit: int) -> tuple[Tensor, Hop, Tensor]:
        """Return hops to the latest answers of (subject, relation, ?), each answer once.

        Returns the row of the subject that each hop begins at, the hops, and how often each fact has occurred.
        """
        found = self.pair_index.latest_answers(subject, relation, self.elapsed, limit)
        return found.row, Hop(relation[found.row], found.object, self.elapsed - found.elapsed), found.number
