"""Application of rules to queries, in order of confidence, until the best candidates are distinguished."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP
from titer.models.tlogic.config import TLogicConfig
from titer.models.tlogic.grounding import Bodies, ground
from titer.models.tlogic.series_index import SeriesIndex

BODIES_AT_ONCE = 512
"""Number of rule bodies that are grounded at once."""
MAX_SCORE = 1 - 1e-6
"""Bound on the score of a rule. A certain answer would have an infinite total."""


@dataclass(frozen=True)
class Rules:
    """The rules of all relations, by relation and descending confidence."""

    head: Tensor  # (rules,)
    body: Tensor  # (rules, MAX_LENGTH)
    same: Tensor  # (rules, MAX_LENGTH + 1)
    confidence: Tensor  # (rules,) with smoothing


@dataclass(frozen=True)
class Supports:
    """What rules add to the totals of the candidates of some queries."""

    row: Tensor  # (supports,) position of the query
    rule: Tensor  # (supports,)
    candidate: Tensor  # (supports,) each candidate of a query and a rule once
    weight: Tensor  # (supports,) -log(1 - f), where f is the rule's score of the candidate

    def __getitem__(self, rows: Tensor | slice) -> "Supports":
        return Supports(self.row[rows], self.rule[rows], self.candidate[rows], self.weight[rows])


class Application:
    r"""Applies the rules of each query's relation, and sums up the scores of the candidates.

    The score of a rule for a candidate is :math:`f = a \cdot \mathrm{confidence} + (1 - a) e^{-\lambda (t - t_1)}`,
    where t₁ is the time of the first fact of the rule's latest grounding. Totals are :math:`-\sum \log(1 - f)`, which
    orders candidates as the noisy-or :math:`1 - \prod (1 - f)` does, but does not round to 1.
    """

    def __init__(self, queries: Queries, history: History, index: SeriesIndex, rules: Rules, config: TLogicConfig):
        self.index, self.rules, self.config = index, rules, config
        self.subject, self.relation = queries.subject.contiguous(), queries.relation.contiguous()
        self.elapsed = history.elapsed(queries.time)
        self.earliest = self.elapsed - (config.window or LAST_STEP)
        self.totals = torch.zeros(len(queries), index.num_entities, device=queries.subject.device)
        self.num_candidates = torch.zeros_like(queries.subject)

    def run(self) -> Iterator[Supports]:
        """Apply the rules of every query in order of confidence, and yield what they add to the totals."""
        owner, rules = self._applicable()
        rows = torch.arange(len(self.subject), device=owner.device)
        place, end = torch.searchsorted(owner, rows), torch.searchsorted(owner, rows, right=True)
        active = (place < end).nonzero()[:, 0]  # the queries that have rules left to apply
        while len(active):
            width = max(1, BODIES_AT_ONCE // len(active))
            # The next rules of each active query, and the number of each among them.
            row, number = active.repeat_interleave(width), rows.new_tensor(range(width)).repeat(len(active))
            left = (place[row] + number < end[row]).nonzero()[:, 0]
            row, number = row[left], number[left]
            body, found = self._supports(row, rules[place[row] + number])
            settled = torch.zeros_like(place, dtype=torch.bool)
            order = torch.sort(number[body], stable=True)
            for part in order.indices.split(torch.bincount(order.values, minlength=width).tolist()):
                supports = found[part]
                # A query that is settled within this round takes none of the round's further rules.
                supports = supports[(~settled[supports.row]).nonzero()[:, 0]]
                if len(supports.row):
                    yield supports
                    self._add(supports)
                    settled[self._settled(torch.unique(supports.row))] = True
            place[active] += width
            active = active[(place[active] < end[active]) & ~settled[active]]

    def _applicable(self) -> tuple[Tensor, Tensor]:
        """Return all pairs of a query and a rule for which the first hop is possible, in order: row, rule."""
        head = self.rules.head
        row, rule = spread(torch.searchsorted(head, self.relation), torch.searchsorted(head, self.relation, right=True))
        began = self.index.pair_began(self.subject[row], self.rules.body[rule, 0])
        possible = (began < self.elapsed[row]).nonzero()[:, 0]
        return row[possible], rule[possible]

    def bodies(self, row: Tensor, rule: Tensor) -> Bodies:
        """Return the bodies of rules for the queries in some rows."""
        return Bodies(
            self.subject[row], self.elapsed[row], self.earliest[row], self.rules.body[rule], self.rules.same[rule]
        )

    def _supports(self, row: Tensor, rule: Tensor) -> tuple[Tensor, Supports]:
        """Return the candidates of each rule for each query, preceded by the position of the rule. (supports,)"""
        keys, times = [row.new_zeros(0)], [row.new_zeros(0)]
        for chains, time in ground(self.bodies(row, rule), self.index):
            candidate = self.index.object[chains.series[:, -1]]
            key, time = latest_of_each(chains.body * self.index.num_entities + candidate, time)
            keys.append(key)
            times.append(time)
        key, time = latest_of_each(torch.cat(keys), torch.cat(times))
        body = key // self.index.num_entities
        row, rule = row[body], rule[body]
        return body, Supports(row, rule, key % self.index.num_entities, self._weight(rule, self.elapsed[row] - time))

    def _weight(self, rule: Tensor, age: Tensor) -> Tensor:
        """Return -log(1 - f) for the age of the first fact of a rule's latest grounding. (supports,)"""
        share = self.config.confidence_weight
        recency = torch.exp(-self.config.decay * age)
        score = share * self.rules.confidence[rule] + (1 - share) * recency
        return -torch.log1p(-score.clamp(max=MAX_SCORE))

    def _add(self, supports: Supports) -> None:
        """Add the weights of at most one rule of each query to the totals."""
        place = (supports.row, supports.candidate)
        before = self.totals[place]
        self.totals[place] = before + supports.weight
        self.num_candidates.index_add_(0, supports.row, (before == 0).long())

    def _settled(self, row: Tensor) -> Tensor:
        """Return the queries whose best candidates have distinct totals, so that no more rules are applied."""
        count = self.config.top_k
        if not count:
            return row[:0]
        row = row[self.num_candidates[row] >= count]
        if len(row) == 0:
            return row
        best = self.totals[row].topk(count, dim=1).values
        return row[(best.diff(dim=1) < 0).all(dim=1)]


def latest_of_each(key: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    """Return all different keys in ascending order, and the latest time of each."""
    distinct, place = torch.unique(key, return_inverse=True)
    latest = time.new_full((len(distinct),), -1).scatter_reduce(0, place, time, reduce="amax")
    return distinct, latest
