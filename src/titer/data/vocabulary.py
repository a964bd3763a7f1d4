"""Names and ids of entities and relations, and the reserved ids."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeVar

from titer.counted import counted

Ids = TypeVar("Ids")  # an int, a numpy array or a torch tensor


class Vocabulary:
    """The names of entities and relations; the position of a name is its id.

    With R relations in the data, ids 0 to R-1 are these relations and R to 2R-1 their inverses. The next ids are the
    self-loop, the start and the padding relation. With E entities, ids 0 to E-1 are these entities, and E is the
    padding entity. No other module computes these ids.

    Args:
        entities: The entity names.
        relations: The relation names.
    """

    def __init__(self, entities: Iterable[str], relations: Iterable[str]):
        self.entities = list(entities)
        self.relations = list(relations)

    @classmethod
    def numbered(cls, num_entities: int, num_relations: int) -> "Vocabulary":
        """Return a vocabulary for data without names: "entity 0", "relation 0" and so on.

        Args:
            num_entities: The number of entities.
            num_relations: The number of relations.
        """
        return cls((f"entity {i}" for i in range(num_entities)), (f"relation {i}" for i in range(num_relations)))

    @property
    def sizes(self) -> str:
        """The numbers of entities and relations in words."""
        return f"{counted(self.num_entities, 'entity', 'entities')}, {counted(self.num_relations, 'relation')}"

    @property
    def num_entities(self) -> int:
        """The number of entities."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """The number of relations in the data, without inverses."""
        return len(self.relations)

    @property
    def num_directed_relations(self) -> int:
        """The number of relations with their inverses; a query can have any of them."""
        return 2 * self.num_relations

    @property
    def self_loop(self) -> int:
        """The id of the relation of an entity to itself."""
        return 2 * self.num_relations

    @property
    def start(self) -> int:
        """The id of the relation before the first hop of a walk."""
        return 2 * self.num_relations + 1

    @property
    def relation_padding(self) -> int:
        """The relation id of a padding edge."""
        return 2 * self.num_relations + 2

    @property
    def num_relation_ids(self) -> int:
        """The number of rows of an embedding table with all relation ids."""
        return 2 * self.num_relations + 3

    @property
    def entity_padding(self) -> int:
        """The entity id of a padding edge."""
        return self.num_entities

    def inverse(self, relation: Ids) -> Ids:
        """Return the inverse of a relation.

        Args:
            relation: An id, or an array or tensor of ids, without reserved ones.
        """
        # int, arrays and tensors have no common type with these operators.
        return (relation + self.num_relations) % self.num_directed_relations  # pyright: ignore[reportOperatorIssue]

    def is_inverse(self, relation: Any) -> Any:
        """Return whether a relation is an inverse.

        Args:
            relation: An id, or an array or tensor of ids.
        """
        return (relation >= self.num_relations) & (relation < self.num_directed_relations)

    def undirected(self, relation: Ids) -> Ids:
        """Return the relation of the data for a relation or its inverse.

        Args:
            relation: An id, or an array or tensor of ids, without reserved ones.
        """
        return relation % self.num_relations  # pyright: ignore[reportOperatorIssue] - as above

    @cached_property
    def entity_ids(self) -> dict[str, int]:
        """The id of each entity name."""
        return {name: i for i, name in enumerate(self.entities)}

    @cached_property
    def relation_ids(self) -> dict[str, int]:
        """The id of each relation name."""
        return {name: i for i, name in enumerate(self.relations)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.entities == other.entities and self.relations == other.relations

    # None is Python's mark of an unhashable class; the stubs declare a method.
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"Vocabulary({self.num_entities} entities, {self.num_relations} relations)"
