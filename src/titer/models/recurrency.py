"""Recurrency: a baseline that scores an answer by how often and how recently it occurred before."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.edges import AllEdges
from titer.graph.filters import TrueAnswers
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.common.validation import check_at_least_one, check_not_negative
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register
from titer.models.search_space import FloatRange, SearchSpace
from titer.progress import track


@dataclass(frozen=True)
class RecurrencyConfig:
    """Settings of ``Recurrency``."""

    SEARCH: ClassVar[SearchSpace] = {
        "model.prior": FloatRange(1e-5, 1e-1, log=True),
        "model.shrinkage": FloatRange(1.0, 10_000.0, log=True),
    }

    decays: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
    """Candidate values of p, the rate at which facts lose weight with age."""
    mixes: tuple[float, ...] = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    """Candidate values of μ, the weight of a fact with another relation than the query's."""
    prior: float = 0.001
    """ε: weight of an entity's share among all past answers to the relation."""
    shrinkage: float = 100.0
    """Strength of the pull of each relation's choice towards the best common one, in validation queries."""
    batch_size: int = 256
    """Number of validation queries ranked at once."""
    num_queries: int = 200_000
    """Validation queries to choose p and μ on; if there are more, a random sample of this size."""

    def __post_init__(self) -> None:
        for name in ("decays", "mixes"):
            values = getattr(self, name)
            if not values:
                raise ConfigError(f"model.{name} must not be empty")
            if not all(value >= 0 for value in values):
                raise ConfigError(f"model.{name} must not have negative values, not {list(values)}")
        check_not_negative(self, "prior", "shrinkage")
        check_at_least_one(self, "batch_size", "num_queries")


@register
class Recurrency(Model):
    r"""Baseline: decayed counts of past facts between the subject and the answer.

    Formula:
        $$
        \begin{aligned}
        \phi(o \mid s, r, t) &= \sum_{(s, r', o, t'),\, t' < t} w_{r r'} \, (t - t')^{-p_r}
            + \varepsilon \, \frac{\#(\cdot, r, o)_{< t}}{\#(\cdot, r, \cdot)_{< t}} \\
        w_{r r'} &= \begin{cases} 1 & r' = r \\ \mu_r & r' \ne r \end{cases}
        \end{aligned}
        $$

        The decay \(p_r\) and the mix \(\mu_r\) of each query relation are chosen on the validation split, by the
        reciprocal ranks among the entities that share a past fact with the subject. Each validation query uses only the
        facts before its own time.

    Reference:
        After Gastinger, Meilicke, Errica, Sztyler, Schuelke and Stuckenschmidt, "History Repeats Itself: A Baseline for
        Temporal Knowledge Graph Forecasting", IJCAI 2024.

    Differences from the publication:
        - The decay is a power law. The paper's is exponential.
        - Facts with other relations between the subject and the answer count too, with the weight \(\mu_r\).
    """

    name = "recurrency"
    Config = RecurrencyConfig
    scores_in_threads = True
    config: RecurrencyConfig
    decay: Tensor  # (num_directed_relations,) p
    mix: Tensor  # (num_directed_relations,) μ

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: RecurrencyConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.register_buffer("decay", torch.full((vocabulary.num_directed_relations,), 1.0))
        self.register_buffer("mix", torch.full((vocabulary.num_directed_relations,), 0.03))

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return φ of every entity. (queries, num_entities)"""
        edges = history.all_before(queries.subject, queries.time)
        relation = queries.relation[edges.row]
        weight = self.weight(queries, edges, self.decay[relation], self.mix[relation])  # (edges,)
        num_entities = history.vocabulary.num_entities
        scores = torch.zeros(len(queries) * num_entities, device=weight.device)
        scores.index_add_(0, edges.row * num_entities + edges.object, weight)
        scores = scores.view(len(queries), num_entities)
        scores = scores + self.config.prior * history.popularity.share(queries)
        return torch.where(scores > 0, scores, UNREACHED)

    @staticmethod
    def weight(queries: Queries, edges: AllEdges, decay: Tensor | float, mix: Tensor | float) -> Tensor:
        """Return w (t - t')^-p of every edge. (edges,)"""
        elapsed = (queries.time[edges.row] - edges.time).float()
        same_relation = edges.relation == queries.relation[edges.row]
        return torch.where(same_relation, 1.0, mix) * elapsed**-decay

    def logits(self, scores: Tensor) -> Tensor:
        """Return log φ: φ is proportional to a probability."""
        return scores.clamp(min=0).log()

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the past facts between subject and answer, each with its share of φ."""
        subject, relation = int(query.subject), int(query.relation)
        edges = history.all_before(query.subject, query.time)
        weight = self.weight(query, edges, self.decay[relation], self.mix[relation])
        popularity = float(history.popularity.share(query)[0, answer])
        prior = self.config.prior * popularity
        at_answer = edges.object == answer
        total = float(weight[at_answer].sum()) + prior
        if total == 0:
            return []
        found = [
            Evidence((Edge(subject, r, answer, t),), w / total)
            for r, t, w in zip(
                edges.relation[at_answer].tolist(),
                edges.time[at_answer].tolist(),
                weight[at_answer].tolist(),
                strict=True,
            )
            if w > 0
        ]
        if prior > 0:
            note = f"the answer in {popularity:.1%} of all past facts with this relation"
            found.append(Evidence((), prior / total, note))
        # Among facts of equal share, the latest comes first.
        return sorted(found, key=lambda e: (e.share, e.path[-1].time if e.path else 0), reverse=True)[:limit]

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Choose p and μ of every relation on the validation split."""
        if len(valid) == 0:
            return
        settings = list(product(self.config.decays, self.config.mixes))
        sums, counts = self._reciprocal_ranks(settings, train, valid)  # (relations, settings), (relations,)
        common = sums.sum(dim=0) / counts.sum()  # mean reciprocal rank of each setting over all relations
        best = (sums + self.config.shrinkage * common).argmax(dim=1)
        chosen = torch.tensor(settings, device=best.device)[best]
        self.decay.copy_(chosen[:, 0])
        self.mix.copy_(chosen[:, 1])

    def _reciprocal_ranks(
        self, settings: list[tuple[float, float]], train: Facts, valid: Facts
    ) -> tuple[Tensor, Tensor]:
        """Return the sum of reciprocal ranks of each relation and setting on valid, and each relation's query count.

        Only entities that share a past fact with the subject are ranked, and without the prior, which matters mostly
        for the other entities. This keeps many settings affordable.
        """
        known = Facts.concatenate(train, valid)
        history = History(known, self.vocabulary).to(self.device)
        true_answers = TrueAnswers(known, self.vocabulary).to(self.device)
        queries, answers = Queries.from_facts(valid, self.vocabulary)
        if len(queries) > self.config.num_queries:
            order = torch.randperm(len(queries), generator=torch.Generator().manual_seed(0))
            rows = order[: self.config.num_queries].sort().values
            queries, answers = queries[rows], answers[rows]
        queries, answers = queries.to(self.device), answers.to(self.device)
        sums = torch.zeros(self.vocabulary.num_directed_relations, len(settings), device=self.device)
        batches = list(queries.batches(self.config.batch_size))
        for rows, batch in track(batches, "choosing decay and mix"):
            candidates = _Candidates(batch, answers[rows], history, true_answers, self.vocabulary.num_entities)
            relation = batch.relation[candidates.reached]
            for index, (decay, mix) in enumerate(settings):
                sums[:, index].index_add_(0, relation, candidates.reciprocal_ranks(decay, mix))
        return sums, torch.bincount(queries.relation, minlength=len(sums))


class _Candidates:
    """The candidates of a batch: entities with a past fact with the subject, other true answers filtered out."""

    def __init__(
        self,
        queries: Queries,
        answers: Tensor,
        history: History,
        true_answers: TrueAnswers,
        num_entities: int,
    ):
        self.queries = queries
        self.edges = history.all_before(queries.subject, queries.time)
        pair = self.edges.row * num_entities + self.edges.object
        self.pair, self.place = torch.unique(pair, return_inverse=True)  # (pairs,), (edges,)
        self.row = self.pair // num_entities
        answer_pair = torch.arange(len(queries), device=answers.device) * num_entities + answers
        row, other = true_answers.of(queries)
        others = row * num_entities + other
        self.competes = ~torch.isin(self.pair, others) | torch.isin(self.pair, answer_pair)
        found = torch.searchsorted(self.pair, answer_pair).clamp(max=max(len(self.pair) - 1, 0))
        self.reached = torch.nonzero(torch.isin(answer_pair, self.pair))[:, 0]
        self.answer = found[self.reached]  # (reached,) positions among the pairs
        self._sums: dict[float, tuple[Tensor, Tensor]] = {}

    def reciprocal_ranks(self, decay: float, mix: float) -> Tensor:
        """Return the realistic reciprocal ranks of the answers that are candidates. (reached,)"""
        if decay not in self._sums:
            self._sums[decay] = self._sum(decay, 0.0), self._sum(decay, 1.0)
        same, any_relation = self._sums[decay]
        score = same + mix * (any_relation - same)
        true = score.new_full((len(self.queries),), torch.inf).index_put_((self.reached,), score[self.answer])
        better, equal = (
            score.new_zeros(len(self.queries)).index_add_(0, self.row, (self.competes & found).float())
            for found in (score > true[self.row], score == true[self.row])
        )
        # The answer itself is among the equal ones.
        return 1 / (1 + better + (equal - 1) / 2)[self.reached]

    def _sum(self, decay: float, mix: float) -> Tensor:
        """Return the score of every candidate. (pairs,)"""
        weight = Recurrency.weight(self.queries, self.edges, decay, mix)
        return weight.new_zeros(len(self.pair)).index_add_(0, self.place, weight)
