"""Nodes and edges of subgraphs, and along which edges they grow."""

from typing import NamedTuple

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries


class Nodes(NamedTuple):
    """Nodes (entity, time) of the subgraphs of a batch of questions, laid end to end."""

    question: Tensor  # (nodes,)
    entity: Tensor  # (nodes,)
    time: Tensor  # (nodes,)

    @classmethod
    def asked(cls, queries: Queries) -> "Nodes":
        """v_q = (e_q, t_q): where the subgraph of each question begins."""
        return cls(torch.arange(len(queries), device=queries.subject.device), queries.subject, queries.time)

    def at(self, places: Tensor | slice) -> "Nodes":
        """The nodes at some places."""
        return Nodes(*(column[places] for column in self))

    def distinct(self) -> tuple["Nodes", Tensor]:
        """Each node once, and which of those every node is."""
        entity, who = torch.unique(self.entity, return_inverse=True)
        time, when = torch.unique(self.time, return_inverse=True)
        key, place = torch.unique((self.question * len(entity) + who) * len(time) + when, return_inverse=True)
        question, who = key // len(time) // len(entity), key // len(time) % len(entity)
        return Nodes(question, entity[who], time[key % len(time)]), place


class PriorEdges(NamedTuple):
    """Edges (v, p, u) from nodes v to nodes u of the past, laid end to end; last, a self-loop for each node."""

    source: Tensor  # (edges,) the place of v among the nodes
    relation: Tensor  # (edges,)
    target: Nodes  # (edges,) u
    num_loops: int

    @property
    def without_loops(self) -> Nodes:
        """The nodes at the other end of those edges that lead into the past."""
        return self.target.at(slice(len(self.source) - self.num_loops))


def prior_edges(history: History, nodes: Nodes, asked: Tensor, limit: int, *, strictly_back: bool) -> PriorEdges:
    """The latest edges of every node that a question asked at its time may know, and a self-loop for each node."""
    # latest() is strict, so t' ≤ t is asked for as t' < t + 1; at the question's own time nothing may be seen.
    before = nodes.time if strictly_back else torch.minimum(nodes.time + 1, asked[nodes.question])
    found = history.latest(nodes.entity, before, limit)
    place = found.mask.flatten().nonzero()[:, 0]
    source = place // limit
    relation, object, time = (column.flatten()[place] for column in (found.relation, found.object, found.time))
    past = Nodes(nodes.question[source], object, time)
    themselves = torch.arange(len(nodes.entity), device=source.device)
    return PriorEdges(
        torch.cat([source, themselves]),
        torch.cat([relation, torch.full_like(themselves, history.vocabulary.self_loop)]),
        Nodes(*(torch.cat(columns) for columns in zip(past, nodes, strict=True))),
        len(themselves),
    )
