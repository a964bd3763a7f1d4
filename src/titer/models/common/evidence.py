"""Evidence of one kind, taken together: twelve earlier meetings, the last three days ago."""

import sys
from collections.abc import Iterable
from dataclasses import replace

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Evidence, Model

ALL = sys.maxsize
"""More evidence than there can be."""


def grouped(evidence: Iterable[Evidence]) -> list[Evidence]:
    """One piece of evidence for all paths that differ only in their dates: the latest, with the share of all of them.

    The strongest groups come first. Shares and counts sum to what they were; evidence without a path is told apart by
    its note.
    """
    groups: dict[tuple[object, ...], list[Evidence]] = {}
    for item in evidence:
        steps = tuple((edge.relation, edge.object) for edge in item.path)
        groups.setdefault((steps, item.note), []).append(item)
    together = [
        replace(
            max(group, key=_times),
            share=sum(item.share for item in group),
            count=sum(item.count for item in group),
        )
        for group in groups.values()
    ]
    return sorted(together, key=lambda item: item.share, reverse=True)


def grouped_evidence(model: Model, query: Queries, answer: int, history: History, limit: int) -> list[Evidence]:
    """The strongest groups of all evidence that a model has for one answer to one question."""
    return grouped(model.explain(query, answer, history, ALL))[:limit]


def _times(item: Evidence) -> tuple[int, ...]:
    """What makes a path later than another of its kind: the first step that differs."""
    return tuple(edge.time for edge in item.path)
