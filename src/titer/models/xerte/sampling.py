"""Nodes and edges of subgraphs, and the choice of edges to expand along."""

from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries


class Nodes(NamedTuple):
    """Nodes (entity, time) of the subgraphs of a batch of queries, concatenated."""

    query: Tensor  # (nodes,) row of the query in the batch
    entity: Tensor  # (nodes,)
    time: Tensor  # (nodes,)

    @classmethod
    def of_queries(cls, queries: Queries) -> "Nodes":
        """Return v_q = (e_q, t_q), the initial node of each query's subgraph."""
        return cls(torch.arange(len(queries), device=queries.subject.device), queries.subject, queries.time)

    def at(self, places: Tensor | slice) -> "Nodes":
        """Return the nodes at some positions."""
        return Nodes(*(column[places] for column in self))

    def distinct(self) -> tuple["Nodes", Tensor]:
        """Return the distinct nodes, and the index of every node among them."""
        entity, entity_index = torch.unique(self.entity, return_inverse=True)
        time, time_index = torch.unique(self.time, return_inverse=True)
        key = (self.query * len(entity) + entity_index) * len(time) + time_index
        key, place = torch.unique(key, return_inverse=True)
        query, entity_index = key // len(time) // len(entity), key // len(time) % len(entity)
        return Nodes(query, entity[entity_index], time[key % len(time)]), place


class PriorEdges(NamedTuple):
    """Edges (v, p, u) from nodes v to earlier nodes u, concatenated, followed by one self-loop per node."""

    source: Tensor  # (edges,) index of v among the nodes
    relation: Tensor  # (edges,)
    target: Nodes  # (edges,) u
    num_loops: int

    @property
    def without_loops(self) -> Nodes:
        """Return the target nodes of all edges but the self-loops."""
        return self.target.at(slice(len(self.source) - self.num_loops))


def prior_edges(
    history: History, nodes: Nodes, query_time: Tensor, max_edges: int, *, strictly_back: bool
) -> PriorEdges:
    """Return the latest edges of every node, strictly before its query's time, and a self-loop for each node."""
    # latest() is exclusive, so t' ≤ t is written as t' < t + 1. Facts at the query's own time are never allowed.
    before = nodes.time if strictly_back else torch.minimum(nodes.time + 1, query_time[nodes.query])
    found = history.latest(nodes.entity, before, max_edges)
    place = found.mask.flatten().nonzero()[:, 0]
    source = place // max_edges
    relation, object, time = (column.flatten()[place] for column in (found.relation, found.object, found.time))
    past = Nodes(nodes.query[source], object, time)
    loops = torch.arange(len(nodes.entity), device=source.device)
    return PriorEdges(
        torch.cat([source, loops]),
        torch.cat([relation, torch.full_like(loops, history.vocabulary.self_loop)]),
        Nodes(*(torch.cat(columns) for columns in zip(past, nodes, strict=True))),
        len(loops),
    )
