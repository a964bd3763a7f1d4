"""The path mixture as a ``Model``."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.latest_series import latest_series
from titer.graph.queries import Queries
from titer.models.base import UNREACHED, StepResult
from titer.models.common.other_answers import OtherAnswers
from titer.models.common.trained_entities import TracksTrainedEntities
from titer.models.common.weight_cache import WeightKeyedCache
from titer.models.evidence import Edge, Evidence
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.distinct_queries import distinct_steps
from titer.models.path_mixture.grouping import grouped, split_scoring, split_training
from titer.models.path_mixture.joined import JoinedPlan, can_be_joined, joined_weights
from titer.models.path_mixture.loss import cross_entropy
from titer.models.path_mixture.mixture import Mixture, ScoringPlan, Weights
from titer.models.path_mixture.paths import Paths
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.sampled import Sample, sampled_cross_entropy
from titer.models.path_mixture.scores import Group, MixtureScores
from titer.models.path_mixture.training_plan import TargetPlan, TrainingPlan
from titer.models.registry import register
from titer.models.scores import Scores

PRIOR = "frequency of the answer, and its fit to the subject by embeddings and latest facts; not along a path"
"""Note of the evidence for the weight of the prior, which reads past facts too."""
FREQUENCY = "frequency and activity of the answer; not along a path"
"""Note of the same evidence with ``prior = false``, where only these terms of the prior remain."""

MIN_EPOCHS, MAX_EPOCHS = 2, 6
FACTS_IN_ALL = 128_000
"""Facts to train on in all epochs together, if that takes neither fewer than MIN_EPOCHS nor more than MAX_EPOCHS."""
MIN_LEARNING_RATE, MAX_LEARNING_RATE = 0.002, 0.004
RATE_TIMES_EPOCHS = 0.008
"""Fewer epochs have a higher learning rate."""
MIN_BATCH_SIZE, MAX_BATCH_SIZE = 512, 4096
MIN_STEPS = 3000
"""On a GPU, batches are doubled as long as there are at least so many of them."""


@register
class PathMixture(TracksTrainedEntities):
    r"""Sums the weights of all short paths through the history, and a prior.

    .. math::
        P(o \mid s, r, t) \propto e^{\pi(s, r, o)} + e^{\varphi(s, r, o)} \sum_{p: s \to o} w(p)

    The sum has a term for every path p of three kinds: all past facts between subject and answer; paths over two facts,
    through the entities that the subject had its latest facts with; and paths over two and three facts that end in the
    relation of the query. The sum has all of these paths, so it is known which part of an answer's weight, the right
    side of the formula, comes from each. These are the shares of the evidence. A forecast shows the probability after
    the temperature is applied, which multiplies all terms of an answer by one factor and so changes no share. A share
    is not the effect of a fact: without it, π and φ would change too.

    What is learned:

    - w(p), the weight of a path, from its relations, the relation of the query, and the ages of its facts. Each kind of
      path has its own formula (``Direct``, ``TwoHops``, ``TwoHopsSame``, ``ThreeHopsSame``).
    - π(s, r, o), the prior (``Prior``): how often o has been the answer to r for any subject, and how well o fits s by
      their embeddings, the words of their names, and states computed from their latest facts. It makes answers possible
      that no path leads to.
    - φ(s, r, o), one factor for all paths to an answer (``Trust``), from the past facts of the pair (s, o).

    All parameters are trained together by cross-entropy over all entities with label smoothing. Other answers that are
    true at the time of the query are excluded from the softmax. The forecast is the mean of the probabilities of
    ``members`` independent mixtures.

    Related publications:
        This model is our own; no publication describes it. Weights of relation paths as features of a pair: Path
        Ranking Algorithm (Lao, Mitchell and Cohen, EMNLP 2011). Temporal paths as explanations: xERTE (Han et al., ICLR
        2021), TITer (Sun et al., EMNLP 2021), TLogic (Liu et al., AAAI 2022). Answers that recur: CyGNet (Zhu et al.,
        AAAI 2021), recurrency baseline (Gastinger et al., IJCAI 2024). Decaying influence of past facts: Know-Evolve
        (Trivedi et al., ICML 2017).
    """

    name = "path_mixture"
    Config = PathMixtureConfig
    training_settings: ClassVar = {
        "epochs": MAX_EPOCHS,
        "learning_rate": MIN_LEARNING_RATE,
        "learning_rate_schedule": "triangle",
        "clip_gradient": 5.0,
    }
    training_notes: ClassVar = {
        "epochs": f"By default {MAX_EPOCHS}, and fewer for more than about 23,000 facts, such that epochs times facts "
        f"is about {FACTS_IN_ALL:,}; but at least {MIN_EPOCHS}.",
        "learning_rate": f"By default {RATE_TIMES_EPOCHS} divided by the number of epochs, between {MIN_LEARNING_RATE} "
        f"and {MAX_LEARNING_RATE}.",
        "batch_size": f"On a GPU, doubled up to {MAX_BATCH_SIZE:,} as long as training still takes {MIN_STEPS:,} "
        "optimisation steps.",
    }
    batch_by_time = True
    # Queries of one time step share neighbours and past facts, which are looked up once for a batch. On a GPU, calling
    # a look-up takes longer than the look-up itself, so those of several time steps are made together.
    scoring_batch_sizes: ClassVar = {"cpu": 1024, "cuda": 16_384}
    keeps_entity_states = True
    scores_in_threads = True
    config: PathMixtureConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: PathMixtureConfig | None = None):
        super().__init__(vocabulary, axis, config)
        sizes = vocabulary.num_entities, vocabulary.num_directed_relations
        mixtures = [Mixture(*sizes, self.config) for _ in range(self.config.members)]
        self.mixtures = nn.ModuleList(mixtures)
        self._names = [mixture.names for mixture in mixtures if mixture.names is not None]
        self._others = OtherAnswers(vocabulary)
        self._explained = WeightKeyedCache[list[Weights]]()

    @classmethod
    def training_defaults(
        cls, given: Mapping[str, Any], num_facts: int | None = None, device: str = "cpu"
    ) -> Mapping[str, Any]:
        """Return defaults for training; with many facts, fewer epochs and larger steps are enough.

        Args:
            given: The values that the table has.
            num_facts: The number of facts to train on, if it is known.
            device: The type of the device that trains, ``cpu`` or ``cuda``.
        """
        num_facts = max(num_facts or 1, 1)
        suitable = min(max(round(FACTS_IN_ALL / num_facts), MIN_EPOCHS), MAX_EPOCHS)
        epochs = given.get("epochs", suitable)
        epochs = max(epochs, 1) if isinstance(epochs, int) else suitable
        found = {**cls.training_settings, "epochs": suitable}
        found["learning_rate"] = min(max(RATE_TIMES_EPOCHS / epochs, MIN_LEARNING_RATE), MAX_LEARNING_RATE)
        if device == "cuda":
            # A step makes as many calls whatever its size, so larger ones are faster.
            size = min(max(2 * num_facts * epochs // MIN_STEPS, MIN_BATCH_SIZE), MAX_BATCH_SIZE)
            found["batch_size"] = 1 << (size.bit_length() - 1)
        return found

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Record the entities of training, the words of their names, and the answers that are true together."""
        super().prepare(train, valid)
        trained = [self.vocabulary.entities[entity] for entity in self.trained.nonzero()[:, 0].tolist()]
        for names in self._names:
            names.learn_from(trained)
        self._others.learn_from(train)

    def plans(
        self, queries: Queries, answers: Tensor, sizes: Sequence[int], history: History
    ) -> list[TrainingPlan] | None:
        """Look up all that the optimisation steps read of the facts; None if the loss is estimated from a sample."""
        if not self._is_exact:
            return None
        first = torch.tensor([0, *sizes[:-1]]).cumsum(0).to(queries.time.device)
        times = queries.time.index_select(0, first).tolist()
        batch = grouped(queries.subject, queries.relation, sizes, times, history)
        weight = torch.tensor([1 / size for size in sizes], device=answers.device)
        weight = weight.repeat_interleave(torch.tensor(sizes, device=answers.device), output_size=len(queries))
        return split_training(self._plan(batch, queries, answers, weight), batch)

    def planned_step(self, plan: Any) -> StepResult:
        """Return the same as ``training_step``, given the plan of a batch."""
        assert isinstance(plan, TrainingPlan)
        loss = plan.targets.weight.new_zeros(())
        targets = plan.targets.targets(plan.mixture.prior.entities.hidden, self.config.label_smoothing)
        for mixture in self.mixtures:
            member: Weights = mixture(plan.mixture)
            assert member.matrix is not None
            each = cross_entropy(member.matrix, member.at, member.along, targets)
            loss = loss + (each * plan.targets.weight).sum()
        return StepResult(loss)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Return the mean cross-entropy of the answers, summed over the members."""
        loss = answers.new_zeros((), dtype=torch.float32)
        for rows, batch in self._by_time(queries, history):
            if self._is_exact:
                weight = torch.full((len(rows),), 1 / len(queries), device=answers.device)
                loss = loss + self.planned_step(self._plan(batch, queries[rows], answers[rows], weight)).loss
            else:
                loss = loss + self._sampled_losses(batch, queries[rows], answers[rows]) / len(queries)
        return StepResult(loss)

    @property
    def _is_exact(self) -> bool:
        """Whether the loss is over all entities; it is estimated from a sample of them if there are many."""
        return self.vocabulary.num_entities <= self.config.exact_entities

    def _plan(self, batch: QueryBatch, queries: Queries, answers: Tensor, weight: Tensor) -> TrainingPlan:
        targets = TargetPlan.of(batch, answers, self._others(queries, answers), weight)
        return TrainingPlan(self._first.plan(batch, self.trained), targets)

    @property
    def _first(self) -> Mixture:
        """The first member; plans do not depend on weights, so those of the first serve all members."""
        return self._members[0]

    @property
    def _members(self) -> list[Mixture]:
        return [mixture for mixture in self.mixtures if isinstance(mixture, Mixture)]

    def _sampled_losses(self, batch: QueryBatch, queries: Queries, answers: Tensor) -> Tensor:
        """Return the sum of the losses of queries of one time step, estimated from a sample of the candidates."""
        loss = answers.new_zeros((), dtype=torch.float32)
        others = self._others(queries, answers)
        sample = Sample.draw(batch, self.config.sampled_entities)
        for mixture in self.mixtures:
            assert isinstance(mixture, Mixture)
            candidates = mixture.sampled(batch, self.trained, answers, others, sample)
            loss = loss + sampled_cross_entropy(candidates, self.config.label_smoothing).sum()
        return loss

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return log P of every entity. (queries, num_entities)"""
        return self.scores(queries, history).dense()

    def scores(self, queries: Queries, history: History) -> Scores:
        """Return log P of every entity."""
        return MixtureScores(len(queries), self._groups(queries, history), history, self.vocabulary.num_entities)

    def _groups(self, queries: Queries, history: History) -> list[Group]:
        """Return the queries of each time step, and the weights of their answers."""
        if torch.is_grad_enabled() or self.training:
            return [Group(rows, batch, self._weights(batch)) for rows, batch in self._by_time(queries, history)]
        steps = distinct_steps(queries, history)
        if len(steps) <= 1:
            return [Group(step.rows, step.batch, self._weights(step.batch), step.place) for step in steps]
        weights = self._weights_of_steps([step.batch for step in steps], history)
        return [Group(step.rows, step.batch, each, step.place) for step, each in zip(steps, weights, strict=True)]

    def _weights_of_steps(self, batches: list[QueryBatch], history: History) -> list[list[Weights]]:
        """Return the weights of each member, for the queries of several time steps, outside of training."""
        subject, relation = (torch.cat([getattr(each, name) for each in batches]) for name in ("subject", "relation"))
        sizes = [len(each) for each in batches]
        together = grouped(subject, relation, sizes, [each.time for each in batches], history)
        if can_be_joined(together, sizes):
            plan = JoinedPlan.of(self._first, together, self.trained)
            members = (joined_weights(member, plan) for member in self._members)
            return [list(each) for each in zip(*members, strict=True)]
        plans = split_scoring(self._first.plan_scores(together), together)
        return [self._weights_from(batch, plan) for batch, plan in zip(batches, plans, strict=True)]

    def score_candidates(self, queries: Queries, candidates: Tensor, history: History) -> Tensor:
        """Return log P of some entities, given that the answer is one of them. (queries, candidates)

        No other entity is looked at, so the cost does not depend on the number of entities. With several members, each
        is normalised over the candidates.
        """
        scores = torch.empty(candidates.shape, device=candidates.device)
        for rows, batch in self._by_time(queries, history):
            scores[rows] = self._of_candidates(batch, candidates[rows])
        return scores

    def _of_candidates(self, batch: QueryBatch, candidates: Tensor) -> Tensor:
        """Return log P of the candidates of queries of one time step. (queries, candidates)"""
        # Entities added after training are no answers before their first fact.
        index = batch.pair_index
        rank = index.rank.index_select(0, candidates.reshape(-1)).view(candidates.shape)
        excluded = (rank >= index.num_known(batch.elapsed)) & (candidates >= self.vocabulary.num_entities)
        members: list[Tensor] = []
        for mixture in self._members:
            each = mixture.of_candidates(batch, self.trained, candidates)
            each = each.masked_fill(excluded, UNREACHED).log_softmax(dim=1)
            members.append(each.masked_fill(excluded, UNREACHED))  # not NaN if no candidate is an answer
        return torch.logsumexp(torch.stack(members), dim=0) - math.log(len(members))

    def _weights(self, batch: QueryBatch) -> list[Weights]:
        """Return the weights of each member."""
        if torch.is_grad_enabled() or self.training:
            plan = self._first.plan(batch, self.trained)
            return [mixture(plan) for mixture in self.mixtures]
        return self._weights_from(batch, self._first.plan_scores(batch))

    def _weights_from(self, batch: QueryBatch, plan: ScoringPlan) -> list[Weights]:
        return [mixture.of_batch(batch, plan, self.trained) for mixture in self._members]

    def _weights_of_one(self, batch: QueryBatch) -> list[Weights]:
        """Return the weights for a single query; cached, because its answers are often explained one after another."""
        if torch.is_grad_enabled() or self.training:
            return self._weights(batch)
        key = int(batch.subject), int(batch.relation), batch.time
        return self._explained(self, batch.history, lambda: self._weights(batch), *key)

    @staticmethod
    def _by_time(queries: Queries, history: History) -> Iterator[tuple[Tensor, QueryBatch]]:
        """Yield the rows of the queries of each time step, and the queries as a batch."""
        for rows, time in queries.by_time():
            yield rows, QueryBatch(queries.subject[rows], queries.relation[rows], time, history)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the paths to the answer, and the prior, with their shares of the answer's weight, strongest first.

        The shares of all evidence sum to 1. With several members, the weights are those of their mean probability,
        before the temperature is applied.
        """
        ((rows, batch),) = self._by_time(query, history)
        weights = self._weights_of_one(batch)
        scores = MixtureScores(1, [Group(rows, batch, weights)], history, self.vocabulary.num_entities)
        shares: dict[tuple[Edge, ...], float] = {}
        for mixture, member, mass in zip(self.mixtures, weights, scores.member_shares(answer), strict=True):
            assert isinstance(mixture, Mixture)
            # P = (e^π + e^φ Σ w) / Z for each member, and the forecast is their mean.
            prior, along, total = member.parts_of(batch, answer)
            of_prior = 1 / (1 + math.exp(min(along - prior, 700.0)))
            shares[()] = shares.get((), 0.0) + mass * of_prior
            each = mass * (1 - of_prior) / total if total > 0 else 0.0
            for paths in (*self._direct(mixture, batch, answer), *member.longer.listed(batch.num_entities)):
                for path, weight in _to(answer, paths, batch):
                    shares[path] = shares.get(path, 0.0) + weight * each
        note = PRIOR if self.config.prior else FREQUENCY
        found = [Evidence(path, share, "" if path else note) for path, share in shares.items() if share > 0]
        return sorted(found, key=lambda evidence: -evidence.share)[:limit]

    @staticmethod
    def _direct(mixture: Mixture, batch: QueryBatch, answer: int) -> list[Paths]:
        """Return the past facts between subject and answer as paths; none if that kind is switched off."""
        if mixture.direct is None:
            return []
        series = latest_series(batch.history, batch.subject, batch.elapsed, mixture.config.past_edges)
        relation, age = batch.pair_index.facts_of(series.event[series.object == answer], batch.elapsed)
        return [mixture.direct.paths(batch.relation, relation, age, answer)]


def _to(answer: int, paths: Paths, batch: QueryBatch) -> Iterator[tuple[tuple[Edge, ...], float]]:
    """Yield the paths of a single query that end at an answer, and their weights."""
    chosen = (paths.answer == answer).nonzero()[:, 0]
    hops = [
        zip(hop.relation[chosen].tolist(), hop.object[chosen].tolist(), hop.age[chosen].tolist(), strict=True)
        for hop in paths.hops
    ]
    for weight, *path in zip(paths.weight[chosen].tolist(), *hops, strict=True):
        here, edges = int(batch.subject), list[Edge]()
        for relation, there, age in path:
            edges.append(Edge(here, relation, there, batch.time_of(age)))
            here = there
        yield tuple(edges), weight
