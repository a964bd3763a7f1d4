"""Names and ids of entities and relations, and every id that is reserved."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeVar

Ids = TypeVar("Ids")  # an int, a numpy array or a torch tensor


class Vocabulary:
    """Which name has which id.

    Relation ids, with R relations in the data: ``0 .. R-1`` as in the data, ``R .. 2R-1`` their inverses,
    then the self-loop, the start and the padding relation. Entity ids: ``0 .. E-1`` and the padding entity E.
    No other file computes one of these.
    """

    def __init__(self, entities: Iterable[str], relations: Iterable[str]):
        self.entities = list(entities)
        self.relations = list(relations)

    @classmethod
    def numbered(cls, num_entities: int, num_relations: int) -> "Vocabulary":
        """A vocabulary whose names are numbers, for data that has none."""
        return cls((f"entity {i}" for i in range(num_entities)), (f"relation {i}" for i in range(num_relations)))

    @property
    def num_entities(self) -> int:
        """How many entities have a name."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """How many relations the data has, inverses not counted."""
        return len(self.relations)

    @property
    def num_directed_relations(self) -> int:
        """Relations and their inverses: the relations that a question can ask for."""
        return 2 * self.num_relations

    @property
    def self_loop(self) -> int:
        """The relation of staying where one is."""
        return 2 * self.num_relations

    @property
    def start(self) -> int:
        """The relation that stands before the first step of a walk."""
        return 2 * self.num_relations + 1

    @property
    def relation_padding(self) -> int:
        """The relation of an edge that is not there."""
        return 2 * self.num_relations + 2

    @property
    def num_relation_ids(self) -> int:
        """The size of an embedding table that has a row for every relation id."""
        return 2 * self.num_relations + 3

    @property
    def entity_padding(self) -> int:
        """The object of an edge that is not there."""
        return self.num_entities

    def inverse(self, relation: Ids) -> Ids:
        """The same relation read from the other side; its own inverse."""
        return (relation + self.num_relations) % self.num_directed_relations  # type: ignore[operator]

    def is_inverse(self, relation: Any) -> Any:
        """Whether a relation id, or each of an array of them, is one of the inverses."""
        return (relation >= self.num_relations) & (relation < self.num_directed_relations)

    def undirected(self, relation: Ids) -> Ids:
        """The relation as it is in the data, whichever way round it is read."""
        return relation % self.num_relations  # type: ignore[operator]

    @cached_property
    def entity_ids(self) -> dict[str, int]:
        """Entity name to id."""
        return {name: i for i, name in enumerate(self.entities)}

    @cached_property
    def relation_ids(self) -> dict[str, int]:
        """Relation name to id."""
        return {name: i for i, name in enumerate(self.relations)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.entities == other.entities and self.relations == other.relations

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"Vocabulary({self.num_entities} entities, {self.num_relations} relations)"
