"""Learned numbers of relations."""

from torch import Tensor, nn


class RelationEmbedding(nn.Embedding):
    """A number, or a vector, for every directed relation."""

    def __init__(self, num_relations: int, dim: int, *, value: float = 0.0, deviation: float = 0.0):
        super().__init__(num_relations, dim)
        nn.init.normal_(self.weight, value, deviation)

    def forward(self, input: Tensor) -> Tensor:
        """The rows of the given relations. (relations, dim)"""
        # The gradient of index_select is added up in place; that of an embedding, or of indexing, sorts first.
        return self.weight.index_select(0, input)
