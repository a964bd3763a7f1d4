"""The paths along which attention reaches an answer."""

from collections import defaultdict
from typing import NamedTuple

from titer.data.vocabulary import Vocabulary
from titer.models.evidence import STAYED, Edge, Evidence
from titer.models.xerte.subgraph import SubgraphExpansion

Node = tuple[int, int]


class AttentionPath(NamedTuple):
    """A path and the attention that takes it."""

    edges: tuple[Edge, ...]
    alphas: tuple[float, ...]
    attention: float


def evidence(expansions: list[SubgraphExpansion], answer: int, vocabulary: Vocabulary) -> list[Evidence]:
    """Return all paths through the subgraph of a single query that end at an answer, strongest first."""
    merged: dict[tuple[Edge, ...], tuple[tuple[float, ...], float]] = {}
    by_node = _paths_to(expansions, answer, vocabulary)
    for path in (path for paths in by_node.values() for path in paths):
        # Paths that differ only in where they stay are one path.
        alphas, attention = merged.get(path.edges, (path.alphas, 0.0))
        merged[path.edges] = (alphas, attention + path.attention)
    total = sum(attention for _, attention in merged.values())
    found = [
        Evidence(edges, attention / total, "" if edges else STAYED, tuple({"attention": alpha} for alpha in alphas))
        for edges, (alphas, attention) in merged.items()
        if attention > 0
    ]
    return sorted(found, key=lambda item: item.share, reverse=True)


def _paths_to(
    expansions: list[SubgraphExpansion], answer: int, vocabulary: Vocabulary
) -> dict[Node, list[AttentionPath]]:
    """Return the paths from the query's node to every node of an answer after the last expansion."""
    useful = _useful_nodes(expansions, answer)
    (entity,), (time,) = expansions[0].nodes.entity.tolist(), expansions[0].nodes.time.tolist()
    paths = {(entity, time): [AttentionPath((), (), 1.0)]}
    for expansion, useful_nodes in zip(expansions, useful, strict=True):
        reached: dict[Node, list[AttentionPath]] = defaultdict(list)
        for source, relation, target, alpha in _edges(expansion):
            if target not in useful_nodes:
                continue
            if relation == vocabulary.self_loop:
                more = [path._replace(attention=path.attention * alpha) for path in paths[source]]
            else:
                edge = Edge(source[0], relation, *target)
                more = [
                    AttentionPath((*path.edges, edge), (*path.alphas, alpha), path.attention * alpha)
                    for path in paths[source]
                ]
            reached[target] += more
        paths = reached
    return paths


def _useful_nodes(expansions: list[SubgraphExpansion], answer: int) -> list[set[Node]]:
    """Return the nodes after each expansion from which attention flows on to an answer."""
    nodes = {target for _, _, target, _ in _edges(expansions[-1]) if target[0] == answer}
    useful = [nodes]
    for expansion in reversed(expansions[1:]):
        nodes = {source for source, _, target, _ in _edges(expansion) if target in nodes}
        useful.insert(0, nodes)
    return useful


def _edges(expansion: SubgraphExpansion) -> list[tuple[Node, int, Node, float]]:
    """Return (v, p, u, α) of every edge."""
    nodes, targets = (
        list(zip(ends.entity.tolist(), ends.time.tolist(), strict=True)) for ends in (expansion.nodes, expansion.target)
    )
    sources = [nodes[place] for place in expansion.source.tolist()]
    return list(zip(sources, expansion.relation.tolist(), targets, expansion.alpha.tolist(), strict=True))
