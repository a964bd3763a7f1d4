"""Single snapshots as graphs that are ready for message passing."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.snapshots import Snapshots
from titer.models.common.graph_layers import sum_over

_graphs: WeakKeyDictionary[Snapshots, dict[int, "SnapshotGraph"]] = WeakKeyDictionary()
"""The graphs made so far. Neighbouring time steps share most of their snapshots, and making a graph waits for a GPU."""


@dataclass(frozen=True)
class SnapshotGraph:
    """The facts of one time step in both directions, each once."""

    active: Tensor  # (active,) the entities with a fact, in ascending order
    source: Tensor  # (edges,) the entity at which each edge begins
    relation: Tensor  # (edges,) the directed relation from source to target
    target: Tensor  # (edges,) the entity at which it ends, as a position in ``active``
    edge_share: Tensor  # (active, 1) one divided by the number of edges of each target
    member: Tensor  # (members,) the entities with a fact of each relation, each once, as subject or object
    member_relation: Tensor  # (members,) the undirected relation
    member_share: Tensor  # (relations, 1) one divided by the number of members of each undirected relation

    @classmethod
    def make(cls, snapshots: Snapshots, step: int, num_relations: int) -> "SnapshotGraph":
        """Return the graph of one snapshot."""
        row, edge = snapshots.edges(snapshots.nodes(step, step + 1))
        active = snapshots.entity[snapshots.nodes(step, step + 1)]
        outward, neighbour = snapshots.relation[edge], snapshots.object[edge]
        # An edge of a snapshot is directed away from its node; a message comes along the inverse relation.
        inward = (outward + num_relations) % (2 * num_relations)
        undirected = outward % num_relations
        pair = torch.unique(undirected * len(active) + row)
        member, member_relation = active[pair % len(active)], pair // len(active)
        return cls(
            active=active,
            source=neighbour,
            relation=inward,
            target=row,
            edge_share=_share(row, len(active)),
            member=member,
            member_relation=member_relation,
            member_share=_share(member_relation, num_relations),
        )

    def mean_message(self, entity: Tensor, relation: Tensor) -> Tensor:
        """Return the mean of h_u + h_r over the edges to each active entity. (active, dim)"""
        messages = entity.index_select(0, self.source) + relation.index_select(0, self.relation)
        return sum_over(self.target, messages, len(self.active)) * self.edge_share

    def mean_member(self, entity: Tensor) -> Tensor:
        """Return the mean of the entities with a fact of each directed relation, zero without any. (relations, dim)"""
        total = sum_over(self.member_relation, entity.index_select(0, self.member), len(self.member_share))
        return (total * self.member_share).repeat(2, 1)


def _share(group: Tensor, size: int) -> Tensor:
    """Return one divided by the number of members of each group. (size, 1)"""
    return 1.0 / torch.bincount(group, minlength=size).clamp(min=1)[:, None]


def latest_graphs(history: History, time: int, limit: int) -> list[SnapshotGraph]:
    """Return the graphs of the latest snapshots before a time, earliest first."""
    snapshots, num_relations = history.snapshots, history.vocabulary.num_relations
    known = _graphs.setdefault(snapshots, {})
    end = snapshots.before(time)
    for step in range(max(end - limit, 0), end):
        if step not in known:
            known[step] = SnapshotGraph.make(snapshots, step, num_relations)
    return [known[step] for step in range(max(end - limit, 0), end)]
