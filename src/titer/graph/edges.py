"""Edges of a batch of entities, as look-ups in a history return them."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Edges:
    """The latest edges of a batch of entities, latest first, padded to the same number.

    All tensors have the shape ``(batch, limit)``.

    Attributes:
        relation: Ids of directed relations; ``vocabulary.relation_padding`` where there is no edge.
        object: Ids of the entities at the other end; ``vocabulary.entity_padding`` where there is no edge.
        time: Time steps; 0 where there is no edge.
        mask: True where there is an edge.
    """

    relation: Tensor
    object: Tensor
    time: Tensor
    mask: Tensor


@dataclass(frozen=True)
class AllEdges:
    """Edges of a batch of entities, concatenated; those of one entity in order of time.

    All tensors have the shape ``(edges,)``.

    Attributes:
        row: Position in the batch of the entity that the edge belongs to.
        relation: Ids of directed relations.
        object: Ids of the entities at the other end.
        time: Time steps.
    """

    row: Tensor
    relation: Tensor
    object: Tensor
    time: Tensor
