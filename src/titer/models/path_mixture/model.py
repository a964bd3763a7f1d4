"""The path mixture behind the common base."""

import math
from collections.abc import Iterator
from typing import ClassVar

import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, Edge, Evidence, Model, StepResult
from titer.models.common.other_answers import OtherAnswers
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.mixture import Mixture, Weights
from titer.models.path_mixture.names import Names
from titer.models.path_mixture.paths import Paths
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.registry import register

LEAST_LOG_PROBABILITY = -30.0
PRIOR = "what is usual for this question, apart from any path"


@register
class PathMixture(Model):
    r"""Lets every short walk through history vote at once.

    .. math::
        P(o \mid s, r, t) \propto e^{\pi(s, r, o)} + e^{\varphi(s, r, o)} \sum_{p: s \to o} w(p)

    The sum goes over all past facts between subject and answer, paths over two facts through the subject's latest
    partners, and paths over two and three facts that end in the question's relation. Because it is exact, the share of
    every path in an answer's probability is exact too. π is a prior for answers that no path reaches, φ one factor for
    all paths to an answer. Trained by cross-entropy over all entities, with other true answers of the moment taken
    out; the forecast is the mean of ``members`` such mixtures.
    """

    name = "path_mixture"
    Config = PathMixtureConfig
    training_settings: ClassVar = {
        "epochs": 6,
        "learning_rate": 0.002,
        "learning_rate_schedule": "triangle",
        "clip_gradient": 5.0,
    }
    batch_by_time = True
    config: PathMixtureConfig
    trained: Tensor  # (num_entities,) who appears in training

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: PathMixtureConfig | None = None):
        super().__init__(vocabulary, axis, config)
        sizes = vocabulary.num_entities, vocabulary.num_directed_relations
        self.mixtures = nn.ModuleList(Mixture(*sizes, self.config) for _ in range(self.config.members))
        self.register_buffer("trained", torch.ones(vocabulary.num_entities, dtype=torch.bool))
        self._others = OtherAnswers(vocabulary)
        self._explained = WeightKeyedCache[list[Weights]]()

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Note who appears in training, and which answers are true together."""
        self.trained.copy_(torch.from_numpy(train.mentions(self.vocabulary.num_entities)))
        names = [self.vocabulary.entities[entity] for entity in self.trained.nonzero()[:, 0].tolist()]
        for module in self.modules():
            if isinstance(module, Names):
                module.learn_from(names)
        self._others.learn_from(train)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Cross-entropy of the answers, summed over the members."""
        loss = answers.new_zeros((), dtype=torch.float32)
        for rows, asked in self._by_time(queries, history):
            for member in self._weights(asked):
                loss = loss + self._losses(member.log_probability(), queries[rows], answers[rows]).sum()
        return StepResult(loss / len(queries))

    def _losses(self, log_probability: Tensor, queries: Queries, answers: Tensor) -> Tensor:
        """Cross-entropy with smoothed labels; other answers that are true at the time do not compete. (questions,)"""
        gone = log_probability.new_tensor(UNREACHED)
        log_probability = log_probability.index_put(self._others(queries, answers), gone).log_softmax(dim=1)
        smoothing = self.config.label_smoothing
        hit = log_probability.gather(1, answers[:, None])[:, 0]
        return -(1 - smoothing) * hit - smoothing * log_probability.clamp(min=LEAST_LOG_PROBABILITY).mean(dim=1)

    def score(self, queries: Queries, history: History) -> Tensor:
        """log P for every entity. (queries, num_entities)"""
        scores = torch.empty(len(queries), history.vocabulary.num_entities, device=queries.subject.device)
        for rows, asked in self._by_time(queries, history):
            scores[rows] = self._log_probability(self._weights(asked))
        return scores

    def _weights(self, asked: QueryBatch) -> list[Weights]:
        return [mixture(asked, self.trained) for mixture in self.mixtures]

    def _weights_of_one(self, asked: QueryBatch) -> list[Weights]:
        """The weights for one question, whose answers are mostly explained one after the other."""
        if torch.is_grad_enabled() or self.training:
            return self._weights(asked)
        question = int(asked.subject), int(asked.relation), asked.time
        return self._explained(self, asked.history, lambda: self._weights(asked), *question)

    @staticmethod
    def _log_probability(weights: list[Weights]) -> Tensor:
        """The logarithm of the mean of the members' probabilities."""
        each = torch.stack([member.log_probability() for member in weights])
        return torch.logsumexp(each, dim=0) - math.log(len(weights))

    @staticmethod
    def _by_time(queries: Queries, history: History) -> Iterator[tuple[Tensor, QueryBatch]]:
        """The questions of each moment, and which rows they are."""
        for rows, time in queries.by_time():
            yield rows, QueryBatch(queries.subject[rows], queries.relation[rows], time, history)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Every path to the answer, and the prior, with their exact shares of the answer's probability."""
        (_, asked), *_ = self._by_time(query, history)
        weights = self._weights_of_one(asked)
        log_probability = self._log_probability(weights)[0, answer]
        shares: dict[tuple[Edge, ...], float] = {}
        for mixture, member in zip(self.mixtures, weights, strict=True):
            assert isinstance(mixture, Mixture)
            # P = (e^π + e^φ Σ w) / Z for each member, and the forecast is their mean.
            mass = (member.log_probability()[0, answer] - log_probability).exp() / len(weights)
            prior, along = torch.stack([member.prior[0, answer], member.along_paths[0, answer]]).softmax(dim=0)
            shares[()] = shares.get((), 0.0) + float(mass * prior)
            # Python's floats are wider than a tensor's: a weight may be as small as those can hold.
            total = float(member.paths[0, answer])
            each = float(mass * along) / total if total > 0 else 0.0
            for paths in (*self._direct(mixture, asked, answer), *member.kinds):
                for path, weight in _to(answer, paths, asked):
                    shares[path] = shares.get(path, 0.0) + weight * each
        found = [Evidence(path, share, "" if path else PRIOR) for path, share in shares.items() if share > 0]
        return sorted(found, key=lambda evidence: -evidence.share)[:limit]

    @staticmethod
    def _direct(mixture: Mixture, asked: QueryBatch, answer: int) -> list[Paths]:
        """Past facts between subject and answer, one by one; nothing if they have no vote."""
        if mixture.direct is None:
            return []
        relation, age = asked.pair_index.facts_between(asked.subject, answer, asked.elapsed)
        return [mixture.direct.paths(asked.relation, relation, age, answer)]


def _to(answer: int, paths: Paths, asked: QueryBatch) -> Iterator[tuple[tuple[Edge, ...], float]]:
    """The paths of a single question that end at an answer, as edges, with their weights."""
    chosen = (paths.answer == answer).nonzero()[:, 0]
    steps = [
        zip(step.relation[chosen].tolist(), step.object[chosen].tolist(), step.age[chosen].tolist(), strict=True)
        for step in paths.steps
    ]
    for weight, *along in zip(paths.weight[chosen].tolist(), *steps, strict=True):
        here, edges = int(asked.subject), []
        for relation, there, age in along:
            edges.append(Edge(here, relation, there, asked.time - age))
            here = there
        yield tuple(edges), weight
