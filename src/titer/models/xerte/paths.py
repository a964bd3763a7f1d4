"""The paths along which attention comes to an answer."""

from collections import defaultdict
from typing import NamedTuple

from titer.data.vocabulary import Vocabulary
from titer.models.evidence import Edge, Evidence
from titer.models.xerte.subgraph import Expansion

STAYED = "the question's own subject, without a step"

Node = tuple[int, int]


class Path(NamedTuple):
    """A path that attention takes, and how much of it."""

    edges: tuple[Edge, ...]
    alphas: tuple[float, ...]
    attention: float


def evidence(steps: list[Expansion], answer: int, vocabulary: Vocabulary) -> list[Evidence]:
    """All paths through the subgraph of a single question that end at an answer, strongest first."""
    together: dict[tuple[Edge, ...], tuple[tuple[float, ...], float]] = {}
    arrivals = _arrivals(steps, answer, vocabulary)
    for path in (path for paths in arrivals.values() for path in paths):
        # Staying earlier or later makes no other path.
        alphas, attention = together.get(path.edges, (path.alphas, 0.0))
        together[path.edges] = (alphas, attention + path.attention)
    whole = sum(attention for _, attention in together.values())
    found = [
        Evidence(edges, attention / whole, "" if edges else STAYED, tuple({"attention": alpha} for alpha in alphas))
        for edges, (alphas, attention) in together.items()
        if attention > 0
    ]
    return sorted(found, key=lambda item: item.share, reverse=True)


def _arrivals(steps: list[Expansion], answer: int, vocabulary: Vocabulary) -> dict[Node, list[Path]]:
    """The paths to every node of an answer after the last step, found from the question's node onwards."""
    useful = _that_lead_to(steps, answer)
    (entity,), (time,) = steps[0].nodes.entity.tolist(), steps[0].nodes.time.tolist()
    paths = {(entity, time): [Path((), (), 1.0)]}
    for step, wanted in zip(steps, useful, strict=True):
        reached: dict[Node, list[Path]] = defaultdict(list)
        for source, relation, target, alpha in _edges(step):
            if target not in wanted:
                continue
            if relation == vocabulary.self_loop:
                more = [path._replace(attention=path.attention * alpha) for path in paths[source]]
            else:
                edge = Edge(source[0], relation, *target)
                more = [
                    Path((*path.edges, edge), (*path.alphas, alpha), path.attention * alpha) for path in paths[source]
                ]
            reached[target] += more
        paths = reached
    return paths


def _that_lead_to(steps: list[Expansion], answer: int) -> list[set[Node]]:
    """The nodes after each step from which attention goes on to an answer."""
    wanted = {target for _, _, target, _ in _edges(steps[-1]) if target[0] == answer}
    useful = [wanted]
    for step in reversed(steps[1:]):
        wanted = {source for source, _, target, _ in _edges(step) if target in wanted}
        useful.insert(0, wanted)
    return useful


def _edges(step: Expansion) -> list[tuple[Node, int, Node, float]]:
    """(v, p, u, α) of every edge."""
    nodes, targets = (
        list(zip(ends.entity.tolist(), ends.time.tolist(), strict=True)) for ends in (step.nodes, step.target)
    )
    sources = [nodes[place] for place in step.source.tolist()]
    return list(zip(sources, step.relation.tolist(), targets, step.alpha.tolist(), strict=True))
