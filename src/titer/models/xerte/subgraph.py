"""How attention flows through the subgraph of a question, step by step."""

from typing import NamedTuple

from torch import Tensor

from titer.graph.ragged import largest_of_each
from titer.models.xerte.sampling import Nodes
from titer.models.xerte.update import Link


class Expansion(NamedTuple):
    """One step of attention: the nodes it comes from, and the edges along which it flows."""

    nodes: Nodes
    source: Tensor  # (edges,) the place of v among the nodes
    relation: Tensor  # (edges,)
    target: Nodes  # (edges,) u
    alpha: Tensor  # (edges,) α_vu
    flow: Tensor  # (edges,) α_vu a_v

    def pruned(self, num_questions: int, count: int) -> "Expansion":
        """With those ``count`` edges of each question along which most attention flows."""
        kept = largest_of_each(self.flow.detach(), self.target.question, num_questions, count)
        source, relation, alpha, flow = (
            column.index_select(0, kept) for column in (self.source, self.relation, self.alpha, self.flow)
        )
        return Expansion(self.nodes, source, relation, self.target.at(kept), alpha, flow)

    def arrived(self) -> tuple[Nodes, Tensor, Link]:
        """The nodes that attention has come to, a_u = Σ_v α_vu a_v of each, and what links them to those before."""
        nodes, place = self.target.distinct()
        attention = self.flow.new_zeros(len(nodes.entity)).index_add(0, place, self.flow)
        return nodes, attention, Link(self.source, place, self.alpha)

    def by_entity(self, num_questions: int, num_entities: int) -> Tensor:
        """Attention summed over all nodes of an entity. (questions, entities)"""
        place = self.target.question * num_entities + self.target.entity
        total = self.flow.new_zeros(num_questions * num_entities).index_add(0, place, self.flow)
        return total.view(num_questions, num_entities)
