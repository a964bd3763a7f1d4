"""TLogic as a ``Model``."""

import numpy as np
import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register
from titer.models.tlogic.application import MAX_SCORE, Application, Rules
from titer.models.tlogic.confidence import ConfidenceEstimator
from titer.models.tlogic.config import MAX_LENGTH, TLogicConfig
from titer.models.tlogic.edges import TrainingEdges
from titer.models.tlogic.grounding import Chains, entities_of, ground, times_of
from titer.models.tlogic.rules import NO_RELATION, rule_text
from titer.models.tlogic.series_index import SeriesIndex
from titer.models.tlogic.walks import WalkSampler

FALLBACK = "how often the answer occurred with this relation, as no rule leads to it"
"""Note of the evidence for an answer that no rule leads to."""


@register
class TLogic(Model):
    r"""Temporal rules, learned from random walks and applied to the past facts of a query.

    Formula:
        $$
        \begin{aligned}
        P(o \mid s, r, t) &= 1 - \prod_{\rho} (1 - f_\rho(o)) \\
        f_\rho(o) &= a \, \frac{\mathrm{supp}(\rho)}{\mathrm{supp}(\mathrm{body}(\rho)) + c}
            + (1 - a) \, e^{-\lambda (t - t_1)}
        \end{aligned}
        $$

        A rule \(\rho\) says that \((s, r, o)\) holds some time after facts \((s, b_1, z_1, t_1)\), \((z_1, b_2, z_2,
        t_2)\), …, \((z_{n-1}, b_n, o, t_n)\) with \(t_1 \le t_2 \le \dots \le t_n\). It may require that some of its
        entities are the same. The product is over the rules that such past facts lead from the subject to \(o\) by, and
        \(t_1\) is the latest possible time of the first of these facts.

        Rules are read off random walks over the facts of training that go back in time and return to where they began.
        Their supports are counted on sampled groundings of their bodies. Rules are applied in order of confidence until
        the ``top_k`` best candidates have distinct scores. Past answers to the relation that no rule leads to come
        after all others, by their frequency.

    Reference:
        Liu, Ma, Hildebrandt, Joblin and Tresp, "TLogic: Temporal Logical Rules for Explainable Link Forecasting on
        Temporal Knowledge Graphs", AAAI 2022.

    Differences from the publication:
        - A repeated fact counts once.
        - The score is \(-\sum \log(1 - f_\rho)\). It orders the candidates as \(P\) does, but does not round to 1, so
          that candidates of many rules are not tied. The authors' code has ties at 1 in single precision, and gives a
          tied answer the best rank.
        - The ``top_k`` best candidates, which end the application of rules, are the best by \(P\). In the authors' code
          they are the best by their highest rule score, then by the second highest, and so on.
        - Answers that no rule leads to are ordered by their frequency. In the authors' code they are no candidates,
          unless the query has no others; the published configurations of this package do the same
          (``popularity_weight = 0``).
        - Frequencies count past answers up to the query's time. The authors' are those of training, of all relations
          together for a relation without training facts.

    Convention of the published figures:
        Ties are optimistic and an answer that no rule leads to has the last rank. The filter is time-aware.
        ``titer.evaluation.published_conventions`` has this convention.
    """

    name = "tlogic"
    Config = TLogicConfig
    config: TLogicConfig
    head: Tensor  # (rules,) ascending
    body: Tensor  # (rules, MAX_LENGTH)
    same: Tensor  # (rules, MAX_LENGTH + 1)
    body_support: Tensor  # (rules,)
    rule_support: Tensor  # (rules,)

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: TLogicConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.register_buffer("head", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("body", torch.zeros(0, MAX_LENGTH, dtype=torch.int64))
        self.register_buffer("same", torch.zeros(0, MAX_LENGTH + 1, dtype=torch.int64))
        self.register_buffer("body_support", torch.zeros(0, dtype=torch.int64))
        self.register_buffer("rule_support", torch.zeros(0, dtype=torch.int64))
        self._indexes = WeightKeyedCache[SeriesIndex]()

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Learn the rules from the training split."""
        if len(train) == 0:
            return
        # Drawn from the seed of the training.
        rng = np.random.default_rng(int(torch.randint(1 << 62, ())))
        edges = TrainingEdges(train, self.vocabulary)
        rules = WalkSampler(edges, self.vocabulary, self.config).rules(rng)
        body_support, rule_support = ConfidenceEstimator(edges, self.config.num_samples).supports(rules, rng)
        confidence = rule_support / np.maximum(body_support, 1)
        enough = (body_support >= self.config.min_body_support) & (rule_support > 0)
        kept = np.nonzero(enough & (confidence >= self.config.min_confidence))[0]
        kept = kept[np.lexsort((-confidence[kept], rules.head[kept]))]
        columns = (rules.head, rules.body, rules.same, body_support, rule_support)
        self.head, self.body, self.same, self.body_support, self.rule_support = (
            torch.from_numpy(np.ascontiguousarray(column[kept])).to(self.device) for column in columns
        )

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return -log(1 - P) of every entity. (queries, num_entities)"""
        application = self._application(queries, history)
        for _ in application.run():
            pass
        scores = torch.where(application.totals > 0, application.totals, self._fallback(application, queries, history))
        return torch.where(scores > 0, scores, UNREACHED)

    def _fallback(self, application: Application, queries: Queries, history: History) -> Tensor:
        """Return the scores of entities that no rule leads to. (queries, num_entities)"""
        # Without other candidates, the weight has no effect on their order, so they keep their frequencies.
        weight = torch.where(application.num_candidates == 0, 1.0, self.config.popularity_weight)
        scores = torch.zeros_like(application.totals)
        rows = (weight > 0).nonzero()[:, 0]
        if len(rows):
            share = weight[rows, None] * history.popularity.share(queries[rows])
            scores[rows] = -torch.log1p(-share.clamp(max=MAX_SCORE))
        return scores

    def _application(self, queries: Queries, history: History) -> Application:
        index = self._indexes(self, history, lambda: SeriesIndex(history))
        confidence = self.rule_support / (self.body_support + self.config.smoothing)
        return Application(queries, history, index, Rules(self.head, self.body, self.same, confidence), self.config)

    def logits(self, scores: Tensor) -> Tensor:
        """Return the log odds of P: log(P / (1 - P))."""
        positive = scores.clamp(min=0)
        return positive + torch.log(-torch.expm1(-positive))

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the rules that lead to the answer, with their latest groundings.

        The share of a rule is its part of -log(1 - P). If several groundings are equally late, they have equal parts of
        it.
        """
        application = self._application(query, history)
        weights: dict[int, float] = {}
        for supports in application.run():
            chosen = (supports.candidate == answer).nonzero()[:, 0]
            weights.update(zip(supports.rule[chosen].tolist(), supports.weight[chosen].tolist(), strict=True))
        if not weights:
            reached = float(self._fallback(application, query, history)[0, answer]) > 0
            return [Evidence((), 1.0, FALLBACK)] if reached else []
        total = sum(weights.values())
        rules = torch.tensor(list(weights), device=self.device)
        found: list[Evidence] = []
        for rule, paths in self._latest_paths(application, rules, answer, history).items():
            share, note = weights[rule] / total / len(paths), self.describe_rule(rule)
            found += [Evidence(path, share, note) for path in sorted(paths)]
        return sorted(found, key=lambda item: -item.share)[:limit]

    def _latest_paths(
        self, application: Application, rules: Tensor, answer: int, history: History
    ) -> dict[int, list[tuple[Edge, ...]]]:
        """Return the groundings of each rule that lead to the answer and are the latest."""
        bodies = application.bodies(torch.zeros_like(rules), rules)
        index, latest = application.index, torch.full_like(rules, -1)
        parts: list[tuple[Chains, Tensor]] = []
        for chains, first in ground(bodies, index):
            found = (index.object[chains.series[:, -1]] == answer).nonzero()[:, 0]
            parts.append((chains[found], first[found]))
            latest = latest.scatter_reduce(0, parts[-1][0].body, parts[-1][1], reduce="amax")
        paths: dict[int, list[tuple[Edge, ...]]] = {}
        for chains, first in parts:
            chains = chains[(first == latest[chains.body]).nonzero()[:, 0]]
            entities = entities_of(chains, bodies, index).tolist()
            times = (times_of(chains, bodies, index) + history.first_time).tolist()
            for number, along, dates in zip(chains.body.tolist(), entities, times, strict=True):
                relations = bodies.relation[number, : len(dates)].tolist()
                hops = zip(along[:-1], relations, along[1:], dates, strict=True)
                paths.setdefault(number, []).append(tuple(Edge(*hop) for hop in hops))
        return {int(rules[number]): found for number, found in paths.items()}

    def describe_rule(self, rule: int) -> str:
        """Return a rule in words, with its confidence and supports."""
        body = [relation for relation in self.body[rule].tolist() if relation != NO_RELATION]
        text = rule_text(int(self.head[rule]), body, self.same[rule].tolist(), self.vocabulary)
        support, total = int(self.rule_support[rule]), int(self.body_support[rule])
        return f"{text}, in {support / total:.0%} of {total:,} sampled cases"
