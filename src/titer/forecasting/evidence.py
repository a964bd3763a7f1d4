"""The evidence of a model, grouped: paths of the same facts at other dates are one piece of evidence."""

import sys
from collections.abc import Iterable
from dataclasses import replace

from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.evidence import Evidence

ALL = sys.maxsize
"""A limit that no amount of evidence exceeds."""


def grouped(evidence: Iterable[Evidence], vocabulary: Vocabulary) -> list[Evidence]:
    """Merge paths that differ only in their dates or directions, and sort the groups by share.

    Each group is represented by its latest path, with the sum of the group's shares and the number of its paths. A fact
    of an entity with itself has two directions, and both read the same; such paths are counted once. Evidence without a
    path is grouped by its note.
    """
    groups: dict[tuple[object, ...], list[Evidence]] = {}
    for item in evidence:
        facts = tuple(edge.forward(vocabulary)[:3] for edge in item.path)
        groups.setdefault((facts, item.note), []).append(item)
    merged = [
        replace(max(group, key=_times), share=sum(item.share for item in group), count=_num_paths(group, vocabulary))
        for group in groups.values()
    ]
    return sorted(merged, key=lambda item: item.share, reverse=True)


def _num_paths(group: list[Evidence], vocabulary: Vocabulary) -> int:
    """Return the number of paths of a group, of which those that follow the same facts in other directions are one."""
    counts: dict[object, int] = {}
    by_direction: dict[object, int] = {}
    for item in group:
        directed = tuple(edge.relation for edge in item.path)
        dated = tuple(edge.forward(vocabulary) for edge in item.path)
        by_direction[directed, dated] = by_direction.get((directed, dated), 0) + item.count
        counts[dated] = max(counts.get(dated, 0), by_direction[directed, dated])
    return sum(counts.values())


def grouped_evidence(model: Model, query: Queries, answer: int, history: History, limit: int) -> list[Evidence]:
    """Return the strongest groups of all evidence that a model has for one answer to one query."""
    return grouped(model.explain(query, answer, history, ALL), history.vocabulary)[:limit]


def _times(item: Evidence) -> tuple[int, ...]:
    """Return the sort key of paths of one group: the first hop that differs decides which is later."""
    return tuple(edge.time for edge in item.path)
