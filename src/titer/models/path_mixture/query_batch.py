"""A batch of questions of one moment, and what was known then."""

from dataclasses import dataclass

from torch import Tensor

from titer.graph.history import Edges, History
from titer.graph.pair_index import PairIndex


@dataclass(frozen=True)
class QueryBatch:
    """Questions (subject, relation, ?) at one time, with the history to look back on."""

    subject: Tensor  # (questions,)
    relation: Tensor  # (questions,) directed
    time: int
    history: History

    def __len__(self) -> int:
        return len(self.subject)

    @property
    def pair_index(self) -> PairIndex:
        """Indexes over the history."""
        return self.history.pair_index

    @property
    def elapsed(self) -> int:
        """Steps from the first fact of the history to the question; 0 when nothing was known yet."""
        return max(self.time - self.history.first_time, 0)

    @property
    def num_entities(self) -> int:
        """How many answers there are."""
        return self.history.vocabulary.num_entities

    def latest(self, entity: Tensor, limit: int) -> Edges:
        """The latest edges of entities before the question."""
        return self.history.latest(entity, entity.new_full((len(entity),), self.time), limit)
