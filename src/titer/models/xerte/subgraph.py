"""The expansion of the subgraphs of a batch of queries, and the attention that flows through them."""

from typing import NamedTuple

from torch import Tensor

from titer.graph.ragged import largest_of_each
from titer.models.xerte.sampling import Nodes
from titer.models.xerte.update import Link


class SubgraphExpansion(NamedTuple):
    """One expansion of the subgraphs: the nodes that attention leaves, and the edges along which it flows."""

    nodes: Nodes
    source: Tensor  # (edges,) index of v among the nodes
    relation: Tensor  # (edges,)
    target: Nodes  # (edges,) u
    alpha: Tensor  # (edges,) α_vu
    flow: Tensor  # (edges,) α_vu a_v

    def pruned(self, num_queries: int, max_edges: int) -> "SubgraphExpansion":
        """Keep the ``max_edges`` edges of each query along which most attention flows."""
        kept = largest_of_each(self.flow.detach(), self.target.query, num_queries, max_edges)
        source, relation, alpha, flow = (
            column.index_select(0, kept) for column in (self.source, self.relation, self.alpha, self.flow)
        )
        return SubgraphExpansion(self.nodes, source, relation, self.target.at(kept), alpha, flow)

    def reached(self) -> tuple[Nodes, Tensor, Link]:
        """Return the distinct target nodes, a_u = Σ_v α_vu a_v of each, and the link to them from the source nodes."""
        nodes, place = self.target.distinct()
        attention = self.flow.new_zeros(len(nodes.entity)).index_add(0, place, self.flow)
        return nodes, attention, Link(self.source, place, self.alpha)

    def by_entity(self, num_queries: int, num_entities: int) -> Tensor:
        """Return the attention summed over all target nodes of each entity. (queries, entities)"""
        place = self.target.query * num_entities + self.target.entity
        total = self.flow.new_zeros(num_queries * num_entities).index_add(0, place, self.flow)
        return total.view(num_queries, num_entities)
