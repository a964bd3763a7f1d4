"""Recurrency: what happened before happens again, the more often and the more recently the likelier."""

from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.filters import TrueAnswers
from titer.graph.history import AllEdges, History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Model
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register
from titer.progress import track


@dataclass(frozen=True)
class RecurrencyConfig:
    """Settings of ``Recurrency``."""

    decays: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
    """Values of p to choose from: how fast a fact loses weight as it grows old."""
    mixes: tuple[float, ...] = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    """Values of μ to choose from: what a fact with another relation counts, beside one with the same."""
    prior: float = 0.001
    """ε: what the share of an entity among all past answers to the relation counts."""
    shrinkage: float = 100.0
    """How many validation questions a relation's own choice must outweigh to differ from the common one."""
    batch_size: int = 256
    """Validation questions looked at together."""

    def __post_init__(self) -> None:
        if not self.decays or not self.mixes or min(*self.decays, *self.mixes, self.prior, self.shrinkage) < 0:
            raise ConfigError("decays and mixes of recurrency must not be empty, and nothing may be negative")
        if self.batch_size < 1:
            raise ConfigError("batch_size must be at least 1")


@register
class Recurrency(Model):
    r"""Counts past facts between the subject and the answer, with a decay.

    .. math::
        \phi(o \mid s, r, t) = \sum_{(s, r', o, t'),\, t' < t} w_{r r'} \, (t - t')^{-p_r}
            + \varepsilon \, \frac{\#(\cdot, r, o)_{< t}}{\#(\cdot, r, \cdot)_{< t}},
        \qquad w_{r r'} = 1 \text{ if } r' = r \text{ else } \mu_r

    The decay p and the mix μ are chosen for each question relation on the validation split, by the reciprocal ranks
    among entities that the subject has met, each question looking only at facts before its own time.

    In the spirit of Gastinger et al., "History Repeats Itself: A Baseline for Temporal Knowledge Graph Forecasting"
    (IJCAI 2024), with a power law in place of their exponential and evidence from other relations.
    """

    name = "recurrency"
    Config = RecurrencyConfig
    config: RecurrencyConfig
    decay: Tensor  # (num_directed_relations,) p
    mix: Tensor  # (num_directed_relations,) μ

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: RecurrencyConfig | None = None):
        super().__init__(vocabulary, axis, config)
        self.register_buffer("decay", torch.full((vocabulary.num_directed_relations,), 1.0))
        self.register_buffer("mix", torch.full((vocabulary.num_directed_relations,), 0.03))

    def score(self, queries: Queries, history: History) -> Tensor:
        """φ for every entity. (queries, num_entities)"""
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
        """Return the weight of every edge: its decay, mixed with whether its relation is the query's. (edges,)"""
        elapsed = (queries.time[edges.row] - edges.time).float()
        same_relation = edges.relation == queries.relation[edges.row]
        return torch.where(same_relation, 1.0, mix) * elapsed**-decay

    def logits(self, scores: Tensor) -> Tensor:
        """φ is a weight: twice as much of it is twice as likely."""
        return scores.clamp(min=0).log()

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """The past facts between subject and answer, each with the share of φ that it brings."""
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
        # Of equally strong facts the later one comes first.
        return sorted(found, key=lambda e: (e.share, e.path[-1].time if e.path else 0), reverse=True)[:limit]

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Choose p and μ for every relation on the validation split."""
        if len(valid) == 0:
            return
        settings = list(product(self.config.decays, self.config.mixes))
        gain, asked = self._reciprocal_ranks(settings, train, valid)  # (relations, settings), (relations,)
        common = gain.sum(dim=0) / asked.sum()  # mean reciprocal rank of each setting over all relations
        best = (gain + self.config.shrinkage * common).argmax(dim=1)
        chosen = torch.tensor(settings)[best]
        self.decay.copy_(chosen[:, 0])
        self.mix.copy_(chosen[:, 1])

    def _reciprocal_ranks(
        self, settings: list[tuple[float, float]], train: Facts, valid: Facts
    ) -> tuple[Tensor, Tensor]:
        """For every relation and setting the sum of reciprocal ranks on valid, and how many questions it has.

        A shortcut that makes many settings affordable: only entities that the subject has met are ranked, and without
        the prior, which mostly decides among the others.
        """
        known = Facts.concatenate(train, valid)
        history = History(known, self.vocabulary)
        true_answers = TrueAnswers(known, self.vocabulary)
        queries, answers = Queries.from_facts(valid, self.vocabulary)
        gain = torch.zeros(self.vocabulary.num_directed_relations, len(settings))
        batches = list(queries.batches(self.config.batch_size))
        for rows, batch in track(batches, "choosing decay and mix"):
            candidates = _Candidates(batch, answers[rows], history, true_answers, self.vocabulary.num_entities)
            asked = batch.relation[candidates.reached]
            for index, (decay, mix) in enumerate(settings):
                gain[:, index].index_add_(0, asked, candidates.reciprocal_ranks(decay, mix))
        return gain, torch.bincount(queries.relation, minlength=len(gain))


class _Candidates:
    """The entities that the subjects of a batch have met, true answers to other facts taken out."""

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
        answer_pair = torch.arange(len(queries)) * num_entities + answers
        row, other = true_answers.of(queries)
        others = row * num_entities + other
        self.competes = ~torch.isin(self.pair, others) | torch.isin(self.pair, answer_pair)
        found = torch.searchsorted(self.pair, answer_pair).clamp(max=max(len(self.pair) - 1, 0))
        self.reached = torch.nonzero(torch.isin(answer_pair, self.pair))[:, 0]
        self.answer = found[self.reached]  # (reached,) positions among the pairs
        self._sums: dict[float, tuple[Tensor, Tensor]] = {}

    def reciprocal_ranks(self, decay: float, mix: float) -> Tensor:
        """Realistic reciprocal ranks of the answers that were met before. (reached,)"""
        if decay not in self._sums:
            self._sums[decay] = self._sum(decay, 0.0), self._sum(decay, 1.0)
        same, any_relation = self._sums[decay]
        score = same + mix * (any_relation - same)
        true = torch.full((len(self.queries),), torch.inf).index_put_((self.reached,), score[self.answer])
        better = torch.zeros(len(self.queries)).index_add_(
            0, self.row, (self.competes & (score > true[self.row])).float()
        )
        equal = torch.zeros(len(self.queries)).index_add_(
            0, self.row, (self.competes & (score == true[self.row])).float()
        )
        # `equal` counts the answer itself.
        return 1 / (1 + better + (equal - 1) / 2)[self.reached]

    def _sum(self, decay: float, mix: float) -> Tensor:
        weight = Recurrency.weight(self.queries, self.edges, decay, mix)
        return torch.zeros(len(self.pair)).index_add_(0, self.place, weight)
