"""RandomWalk: an agent without a policy. What a trained one must beat."""

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.common.entities import mask_unseen
from titer.models.common.validation import check_at_least_one
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register


@dataclass(frozen=True)
class RandomWalkConfig:
    """Settings of ``RandomWalk``."""

    num_steps: int = 3
    """L: how many steps a walk has."""
    num_edges: int = 50
    """N: among how many of the latest edges of an entity, and staying, a step is drawn."""
    num_walks: int = 1000
    """How many walks are drawn for a question."""
    seed: int = 0
    """Seed of the walks; ``training.seed`` is not read. A question gets the same walks in whatever batch it comes."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "num_steps", "num_edges", "num_walks")
        if not 0 <= self.seed < 1 << 31:
            raise ConfigError(f"the seed of random_walk must lie between 0 and 2^31, not at {self.seed}")


@register
class RandomWalk(Model):
    r"""The share of uniform random walks that end at an entity.

    A walk starts at the question's node (s, t). From a node (e, t_l) it stays or follows one of the N latest edges
    (e, r', e', t') with t' ≤ t_l and t' < t, all with the same probability; after L steps it is where it is. This is
    the random search that the TITer paper draws as a dotted line.
    """

    name = "random_walk"
    Config = RandomWalkConfig
    config: RandomWalkConfig

    def score(self, queries: Queries, history: History) -> Tensor:
        """The share of walks that end at each entity. (queries, num_entities)"""
        entity = self._walk(queries, history)[-1].object.view(len(queries), -1)  # (queries, walks)
        scores = torch.zeros(len(queries), history.vocabulary.num_entities, device=entity.device)
        scores.scatter_add_(1, entity, torch.full_like(entity, 1 / self.config.num_walks, dtype=scores.dtype))
        scores = torch.where(scores > 0, scores, UNREACHED)
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history)

    def _walk(self, queries: Queries, history: History) -> "list[_Step]":
        walks, entity_of = self.config.num_walks, queries.subject.repeat_interleave(self.config.num_walks)
        asked = queries.time.repeat_interleave(walks)  # (queries * walks,)
        walk = torch.arange(walks, device=asked.device).repeat(len(queries))
        relation_of = queries.relation.repeat_interleave(walks)
        walk = walk + (self.config.seed << 32)  # no walk of another seed has the same number
        stream = _mix(_mix(_mix(_mix(walk) ^ entity_of) ^ relation_of) ^ asked)
        entity, time, steps = entity_of, asked, []
        for step in range(self.config.num_steps):
            # Edges up to the node's time, but never at the question's own: latest() is strict, hence the + 1.
            before = torch.minimum(time + 1, asked)
            known = history.count_before(entity, before).clamp(max=self.config.num_edges)
            choice = _mix(stream + step + 1) % (known + 1)  # 0 is to stay
            edge = history.nth_latest(entity, before, choice)
            stays = choice == 0
            relation = torch.where(stays, self.vocabulary.self_loop, edge.relation)
            steps.append(_Step(relation, torch.where(stays, entity, edge.object), torch.where(stays, time, edge.time)))
            entity, time = steps[-1].object, steps[-1].time
        return steps

    def logits(self, scores: Tensor) -> Tensor:
        """A share is a weight: twice as many walks are twice as likely."""
        return scores.clamp(min=0).log()

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """The paths of the walks that ended at the answer, each with its share of them."""
        steps = self._walk(query, history)
        arrived = torch.nonzero(steps[-1].object == answer)[:, 0]
        columns = [(s.relation[arrived].tolist(), s.object[arrived].tolist(), s.time[arrived].tolist()) for s in steps]
        paths: Counter[tuple[Edge, ...]] = Counter()
        for walk in range(len(arrived)):
            here, path = int(query.subject), []
            for relations, objects, times in columns:
                if relations[walk] != self.vocabulary.self_loop:
                    path.append(Edge(here, relations[walk], objects[walk], times[walk]))
                here = objects[walk]
            paths[tuple(path)] += 1
        stayed = "the question's own subject, without a step"
        return [
            Evidence(path, count / len(arrived), "" if path else stayed) for path, count in paths.most_common(limit)
        ]


@dataclass(frozen=True)
class _Step:
    """One step of many walks."""

    relation: Tensor  # (queries * walks,)
    object: Tensor
    time: Tensor


def _mix(value: Tensor) -> Tensor:
    """A well-mixed non-negative number for every number (the finaliser of MurmurHash3)."""
    value = value ^ (value >> 33)
    value = value * -49064778989728563
    value = value ^ (value >> 33)
    value = value * -4265267296055464877
    return (value ^ (value >> 33)) & torch.iinfo(torch.int64).max
