"""The directed edges of a training split, sorted in groups, for drawing random edges."""

import numpy as np
from numpy.typing import NDArray

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.sorted_edges import TIME_BITS

Ids = NDArray[np.int64]


class TrainingEdges:
    """Both directions of every fact of a training split, each fact once.

    Edge ``2 i`` and edge ``2 i + 1`` are the two directions of one fact.
    """

    def __init__(self, train: Facts, vocabulary: Vocabulary):
        rows = np.unique(np.stack([column.astype(np.int64) for column in train.columns], axis=1), axis=0)
        subject, relation, object, time = rows.T
        self.num_entities, self.num_relations = vocabulary.num_entities, vocabulary.num_directed_relations
        self.subject, self.object = (
            np.stack(ends, axis=1).reshape(-1) for ends in ((subject, object), (object, subject))
        )
        self.relation = np.stack([relation, vocabulary.inverse(relation)], axis=1).reshape(-1)
        # Counted from the first fact, so that times fit into the keys of an index.
        self.elapsed = np.repeat(time - time.min() if len(time) else time, 2)

    def __len__(self) -> int:
        return len(self.subject)


def grouped_by(edges: TrainingEdges, group: Ids, rate: float = 0.0) -> "EdgeGroups":
    """Return the edges in groups; ``group`` has a number for each edge."""
    return EdgeGroups(group, edges.elapsed, rate)


class EdgeGroups:
    r"""Edges in groups, sorted by time within each group.

    An edge of the past is drawn from a group with a probability proportional to :math:`e^{\rho t}`, where t is its time
    and ρ the rate. For that, each edge has the sum of the weights of its group up to itself, relative to its own
    weight: :math:`c_i = \sum_{j \le i} e^{\rho (t_j - t_i)}`. The sums neither overflow nor vanish, however long the
    time is.
    """

    def __init__(self, group: Ids, elapsed: Ids, rate: float):
        self.rate = rate
        self.groups, number = np.unique(group, return_inverse=True)
        key = (number.reshape(-1).astype(np.int64) << TIME_BITS) + elapsed
        self.edge = np.argsort(key, kind="stable")  # (edges,) the edge at each position
        self.key = key[self.edge]
        self.elapsed = elapsed[self.edge]
        self.position = np.empty_like(self.edge)  # (edges,) the position of each edge
        self.position[self.edge] = np.arange(len(self.edge))
        self.starts = np.searchsorted(self.key, np.arange(len(self.groups) + 1) << TIME_BITS)
        self.sums = self._running_sums()

    def _running_sums(self) -> NDArray[np.float64]:
        """Return c of every edge, in logarithmically many passes."""
        place = np.arange(len(self.key))
        earlier = place - self.starts[self.key >> TIME_BITS]
        sums, gap = np.ones(len(place)), 1
        while gap <= earlier.max(initial=0):
            reach = np.nonzero(earlier >= gap)[0]
            decayed = np.exp(self.rate * (self.elapsed[reach - gap] - self.elapsed[reach]))
            sums[reach] += sums[reach - gap] * decayed
            gap *= 2
        return sums

    def number_of(self, group: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        """Return the position of each group among the groups, and whether it is there."""
        number = np.searchsorted(self.groups, group)
        known = number < len(self.groups)
        known[known] = self.groups[number[known]] == group[known]
        return np.where(known, number, 0), known

    def draw_up_to(self, group: Ids, elapsed: Ids, skipped: Ids, rng: np.random.Generator) -> Ids:
        """Draw an edge of each group, at or before a time, with a probability proportional to its weight.

        Args:
            group: The group of each draw.
            elapsed: The latest time that an edge may have.
            skipped: An edge at exactly that time which is not drawn; -1 for none. It may be of another group.
            rng: The source of randomness.

        Returns:
            The edges; -1 where there is none to draw.
        """
        number, known = self.number_of(group)
        key = (number << TIME_BITS) + elapsed
        start, middle = self.starts[number], np.searchsorted(self.key, key)
        end = np.searchsorted(self.key, key, side="right")
        # Edges of the latest time have the weight 1 each; the skipped one is left out of them.
        place = np.where(skipped >= 0, self.position[skipped], -1)
        skips = (place >= middle) & (place < end)
        latest = end - middle - skips
        last = np.maximum(middle - 1, 0)
        age = elapsed - self.elapsed[last]
        earlier = np.where(middle > start, self.sums[last] * np.exp(-self.rate * age), 0.0)
        first, second = rng.random(len(group)), rng.random(len(group))
        is_latest = first * (latest + earlier) < latest
        chosen = middle + (second * latest).astype(np.int64)
        chosen += skips & (chosen >= place)
        # If all earlier edges are so old that their weight vanishes, one of them is drawn nevertheless.
        chosen = np.where(is_latest, chosen, self._search(start, last, second))
        exists = known & ((latest > 0) | (middle > start))
        return np.where(exists, self.edge[np.where(exists, chosen, 0)], -1)

    def _search(self, start: Ids, last: Ids, share: NDArray[np.float64]) -> Ids:
        """Return the first positions up to which the edges have a share of the weight of ``start .. last``."""
        low, high = np.minimum(start, last), last.copy()
        target = share * self.sums[last]
        while (low < high).any():
            half = (low + high) // 2
            reached = self.sums[half] * np.exp(self.rate * (self.elapsed[half] - self.elapsed[last])) >= target
            low, high = np.where(reached, low, half + 1), np.where(reached, half, high)
        return low

    def draw_from(self, group: Ids, elapsed: Ids, rng: np.random.Generator) -> Ids:
        """Draw an edge of each group, at or after a time, all with the same probability; -1 where there is none."""
        number, known = self.number_of(group)
        start = np.searchsorted(self.key, (number << TIME_BITS) + elapsed)
        count = self.starts[number + 1] - start
        exists = known & (count > 0)
        chosen = start + (rng.random(len(group)) * count).astype(np.int64)
        return np.where(exists, self.edge[np.where(exists, chosen, 0)], -1)
