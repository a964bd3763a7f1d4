"""RandomWalk: a baseline whose agent has no policy."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.common.entities import mask_unseen
from titer.models.common.validation import check_at_least_one
from titer.models.evidence import STAYED, Edge, Evidence
from titer.models.registry import register
from titer.models.search_space import Categorical, IntRange, SearchSpace


@dataclass(frozen=True)
class RandomWalkConfig:
    """Settings of ``RandomWalk``."""

    SEARCH: ClassVar[SearchSpace] = {
        "model.num_hops": IntRange(1, 4),
        "model.num_edges": Categorical((10, 20, 50, 100)),
    }

    num_hops: int = 3
    """L: number of hops of a walk."""
    num_edges: int = 50
    """N: number of an entity's latest edges from which a hop is drawn."""
    num_walks: int = 1000
    """Number of walks drawn for a query."""
    seed: int = 0
    """Seed of the walks, independent of ``training.seed``. A query has the same walks in every batch."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "num_hops", "num_edges", "num_walks")
        if not 0 <= self.seed < 1 << 31:
            raise ConfigError(f"model.seed must be at least 0 and below 2^31, not {self.seed}")


@register
class RandomWalk(Model):
    r"""Baseline: the share of uniform random walks that end at an entity.

    Formula:
        $$\phi(o \mid s, r, t) = \frac{1}{M} \sum_{m=1}^{M} \mathbb{1}[\text{walk } m \text{ ends at } o]$$

        Each of \(M\) = ``num_walks`` walks starts at the query's node \((s, t)\). From a node \((e, t_l)\) it stays, or
        follows one of the \(N\) latest edges \((e, r', e', t')\) with \(t' \le t_l\) and \(t' < t\). All these choices
        have the same probability. A walk ends after \(L\) hops.

    Reference:
        This is the random search that the TITer paper draws as a dotted line: Sun, Zhong, Ma, Han and He,
        "TimeTraveler: Reinforcement Learning for Temporal Knowledge Graph Forecasting", EMNLP 2021. A trained agent
        must score higher.
    """

    name = "random_walk"
    Config = RandomWalkConfig
    config: RandomWalkConfig

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return the share of walks that end at each entity. (queries, num_entities)"""
        entity = self._walk(queries, history)[-1].object.view(len(queries), -1)  # (queries, walks)
        scores = torch.zeros(len(queries), history.vocabulary.num_entities, device=entity.device)
        scores.scatter_add_(1, entity, torch.full_like(entity, 1 / self.config.num_walks, dtype=scores.dtype))
        scores = torch.where(scores > 0, scores, UNREACHED)
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history)

    def _walk(self, queries: Queries, history: History) -> "list[_Hop]":
        """Return the hops of all walks of all queries."""
        entity, query_time = (
            column.repeat_interleave(self.config.num_walks) for column in (queries.subject, queries.time)
        )
        stream = self._random_streams(queries)
        time, hops = query_time, []
        for hop in range(self.config.num_hops):
            # Facts up to the node's time are allowed, none at the query's own. `before` is exclusive, hence the + 1.
            before = torch.minimum(time + 1, query_time)
            num_edges = history.count_before(entity, before).clamp(max=self.config.num_edges)
            choice = _mix(stream + hop + 1) % (num_edges + 1)  # 0 is to stay
            edge = history.nth_latest(entity, before, choice)
            stays = choice == 0
            relation = torch.where(stays, self.vocabulary.self_loop, edge.relation)
            hops.append(_Hop(relation, torch.where(stays, entity, edge.object), torch.where(stays, time, edge.time)))
            entity, time = hops[-1].object, hops[-1].time
        return hops

    def _random_streams(self, queries: Queries) -> Tensor:
        """Return a random number for each walk that depends on seed, query and walk alone. (queries * walks,)"""
        walks = self.config.num_walks
        # A seed shifts the numbers of all walks, so that the walks of two seeds never have the same number.
        walk = torch.arange(walks, device=queries.subject.device).repeat(len(queries)) + (self.config.seed << 32)
        stream = _mix(walk)
        for column in (queries.subject, queries.relation, queries.time):
            stream = _mix(stream ^ column.repeat_interleave(walks))
        return stream

    def logits(self, scores: Tensor) -> Tensor:
        """Return the logarithm of the shares, which are proportional to probabilities."""
        return scores.clamp(min=0).log()

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the paths of the walks that end at the answer, each with its share of these walks."""
        hops = self._walk(query, history)
        ends = torch.nonzero(hops[-1].object == answer)[:, 0]
        columns = [(h.relation[ends].tolist(), h.object[ends].tolist(), h.time[ends].tolist()) for h in hops]
        paths: Counter[tuple[Edge, ...]] = Counter()
        for walk in range(len(ends)):
            entity, path = int(query.subject), []
            for relations, objects, times in columns:
                if relations[walk] != self.vocabulary.self_loop:
                    path.append(Edge(entity, relations[walk], objects[walk], times[walk]))
                entity = objects[walk]
            paths[tuple(path)] += 1
        return [Evidence(path, count / len(ends), "" if path else STAYED) for path, count in paths.most_common(limit)]


@dataclass(frozen=True)
class _Hop:
    """One hop of every walk of a batch."""

    relation: Tensor  # (queries * walks,)
    object: Tensor
    time: Tensor


def _mix(value: Tensor) -> Tensor:
    """Return a well-mixed non-negative number for every number (the finaliser of MurmurHash3)."""
    value = value ^ (value >> 33)
    value = value * -49064778989728563
    value = value ^ (value >> 33)
    value = value * -4265267296055464877
    return (value ^ (value >> 33)) & torch.iinfo(torch.int64).max
