"""The evidence of a model, grouped: paths that differ only in their dates are one piece of evidence."""

import sys
from collections.abc import Iterable
from dataclasses import replace

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.evidence import Evidence

ALL = sys.maxsize
"""A limit that no amount of evidence exceeds."""


def grouped(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Merge paths that differ only in their dates, and sort the groups by share.

    Each group is represented by its latest path, with the sums of the group's shares and counts. Evidence without a
    path is grouped by its note.
    """
    groups: dict[tuple[object, ...], list[Evidence]] = {}
    for item in evidence:
        hops = tuple((edge.relation, edge.object) for edge in item.path)
        groups.setdefault((hops, item.note), []).append(item)
    merged = [
        replace(
            max(group, key=_times),
            share=sum(item.share for item in group),
            count=sum(item.count for item in group),
        )
        for group in groups.values()
    ]
    return sorted(merged, key=lambda item: item.share, reverse=True)


def grouped_evidence(model: Model, query: Queries, answer: int, history: History, limit: int) -> list[Evidence]:
    """Return the strongest groups of all evidence that a model has for one answer to one query."""
    return grouped(model.explain(query, answer, history, ALL))[:limit]


def _times(item: Evidence) -> tuple[int, ...]:
    """Return the sort key of paths of one group: the first hop that differs decides which is later."""
    return tuple(edge.time for edge in item.path)
