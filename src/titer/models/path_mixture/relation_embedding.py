"""Embeddings of directed relations."""

from torch import Tensor, nn


class RelationEmbedding(nn.Embedding):
    """A learned number, or vector, for every directed relation, initialised from a normal distribution."""

    def __init__(self, num_relations: int, dim: int, *, value: float = 0.0, deviation: float = 0.0):
        super().__init__(num_relations, dim)
        nn.init.normal_(self.weight, value, deviation)

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows of some relations. (relations, dim)"""
        # The gradient of index_select is summed in place; that of an embedding, or of indexing, sorts first.
        return self.weight.index_select(0, input)
