"""CyGNet: copies an answer from the past of the question, or generates one."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import LAST_STEP, History
from titer.graph.queries import Queries
from titer.models.base import Model, StepResult
from titer.models.common.entities import append_mean_rows, mask_unseen
from titer.models.common.validation import check_at_least_one, check_partial, check_positive
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register

NOT_IN_HISTORY = -100.0
"""What the copy score of an entity loses if it was never an answer to the question before."""
GENERATED = "what is usual for this question, apart from its past answers"


@dataclass(frozen=True)
class CyGNetConfig:
    """Settings of ``CyGNet``. The defaults are its authors' for ICEWS."""

    dim: int = 200
    """Size of the embeddings of entities, relations and times."""
    copy_weight: float = 0.8
    """α: what copying counts, beside generating."""
    copy_range: float = 1.0
    """κ: how far copy scores lie from 0 at most; with 1, as published, no past answer is e² times likelier to be copied
    than another."""
    dropout: float = 0.0
    """Share of the question's embedding that is left out in training."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim")
        check_positive(self, "copy_range")
        check_partial(self, "dropout")
        if not 0 < self.copy_weight < 1:
            raise ConfigError(f"model.copy_weight must lie between 0 and 1, not at {self.copy_weight}")


@register
class CyGNet(Model):
    r"""Mixes copying one of the question's past answers with generating any answer.

    .. math::
        q &= [e_s, e_r, k_t \mathbf{u}] \\
        P_c &= \mathrm{softmax}(\kappa \tanh(W_c q + b_c) + h), \qquad
            h_o = 0 \text{ if } (s, r, o, t') \text{ for some } t' < t, \text{ else } -100 \\
        P_g &= \mathrm{softmax}(W_g q + b_g) \\
        P(o \mid s, r, t) &= \alpha P_c(o) + (1 - \alpha) P_g(o)

    Zhu et al., "Learning from History: Modeling Temporal Knowledge Graphs with Sequential Copy-Generation Networks"
    (AAAI 2021). Trained by cross-entropy over all entities.

    The copy vocabulary of a question is every answer that (s, r, ?) had before its own time, at test too. Where there
    is none, there is nothing to copy and :math:`P = P_g`. One model answers both directions, by inverse relations; the
    paper trains one for each.

    The embedding of the k-th time step is k unit steps **u**, as published, counted here in shares of the training
    split: :math:`k_t` is 1 at its last step. A time that training never saw is taken for the nearest one it saw.

    The authors add an L2 penalty on the embeddings with weight 0.01, and on WIKI and YAGO have α = 0.7; neither is done
    here. As in theirs, and unlike in the other models here, other true answers of the moment compete in the loss. An
    entity that training never saw keeps the embedding it began with.
    """

    name = "cygnet"
    Config = CyGNetConfig
    config: CyGNetConfig
    span: Tensor  # (2,) the first and the last time of training

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: CyGNetConfig | None = None):
        super().__init__(vocabulary, axis, config)
        dim = self.config.dim
        self.entity = nn.Embedding(vocabulary.num_entities, dim)
        self.relation = nn.Embedding(vocabulary.num_directed_relations, dim)
        self.unit_step = nn.Parameter(torch.empty(1, dim))
        for table in (self.entity.weight, self.relation.weight, self.unit_step):
            nn.init.xavier_uniform_(table, gain=math.sqrt(2))
        self.copy = nn.Linear(3 * dim, vocabulary.num_entities)
        self.generate = nn.Linear(3 * dim, vocabulary.num_entities)
        self.dropout = nn.Dropout(self.config.dropout)
        self.register_buffer("span", torch.zeros(2, dtype=torch.int64))

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Note which times training sees."""
        if len(train):
            self.span.copy_(torch.tensor([int(train.time.min()), int(train.time.max())]))

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Cross-entropy of the answers."""
        return StepResult(functional.nll_loss(self.score(queries, history), answers))

    def score(self, queries: Queries, history: History) -> Tensor:
        """log P for every entity. (queries, num_entities)"""
        return torch.logaddexp(*self._modes(queries, history))

    def _modes(self, queries: Queries, history: History) -> tuple[Tensor, Tensor]:
        """log α P_c and log (1 - α) P_g for every entity. (queries, num_entities) each"""
        question = self._question(queries, history)
        absence, weight = self._copy_vocabulary(queries, history)
        copy = self.config.copy_range * _scores(self.copy, question, history).tanh() + absence
        generate = _scores(self.generate, question, history)
        # Names that nobody has heard of are no answers: they must not take their part of the probability either.
        copy, generate = (
            mask_unseen(scores, queries, self.vocabulary.num_entities, history).log_softmax(dim=1)
            for scores in (copy, generate)
        )
        return weight.log() + copy, torch.log1p(-weight) + generate

    def _question(self, queries: Queries, history: History) -> Tensor:
        """q: embeddings of subject, relation and time. (queries, 3 dim)"""
        first, last = self.span
        share = (queries.time.clamp(first, last) - first + 1) / (last - first + 1)
        parts = [
            append_mean_rows(self.entity.weight, history)[queries.subject],
            self.relation(queries.relation),
            share[:, None] * self.unit_step,
        ]
        return self.dropout(torch.cat(parts, dim=1))

    def _copy_vocabulary(self, queries: Queries, history: History) -> tuple[Tensor, Tensor]:
        """h, and what copying counts: nothing where there is no past answer. (queries, num_entities), (queries, 1)"""
        elapsed = self._elapsed(queries, history)
        row, answer = history.pair_index.answers_ever(queries.subject, queries.relation, elapsed)
        shape = (len(queries), history.vocabulary.num_entities)
        absence = torch.full(shape, NOT_IN_HISTORY, device=row.device)
        absence[row, answer] = 0.0
        weight = torch.zeros(len(queries), 1, device=row.device)
        weight[row] = self.config.copy_weight
        return absence, weight

    @staticmethod
    def _elapsed(queries: Queries, history: History) -> Tensor:
        """Steps from the first fact of the history to each question; 0 when nothing was known yet. (queries,)"""
        return (queries.time - history.first_time).clamp(0, LAST_STEP)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """The past facts that the answer was copied from, and what was generated.

        Copying knows that an answer was given before, not how often: its facts have equal parts in the share.
        """
        elapsed = int(self._elapsed(query, history))
        relation, age = history.pair_index.facts_between(query.subject, answer, elapsed)
        times = (history.first_time + elapsed - age[relation == query.relation]).tolist()
        if not times:
            return [Evidence((), 1.0, GENERATED)]
        modes = torch.stack([mode[0, answer] for mode in self._modes(query, history)])
        copied, generated = modes.softmax(dim=0).tolist()
        subject, asked = int(query.subject), int(query.relation)
        found = [
            Evidence((Edge(subject, asked, answer, time),), copied / len(times)) for time in sorted(times, reverse=True)
        ]
        return sorted([*found, Evidence((), generated, GENERATED)], key=lambda item: -item.share)[:limit]


def _scores(layer: nn.Linear, question: Tensor, history: History) -> Tensor:
    """The layer's output for every entity, also for those that came after training. (queries, num_entities)"""
    bias = append_mean_rows(layer.bias[:, None], history)[:, 0]
    return functional.linear(question, append_mean_rows(layer.weight, history), bias)
