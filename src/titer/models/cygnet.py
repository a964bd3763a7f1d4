"""CyGNet: copies a past answer to the query, or generates an answer."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import ConfigError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.sorted_edges import LAST_STEP
from titer.models.base import Model, StepResult
from titer.models.common.entities import append_mean_rows, mask_unseen
from titer.models.common.validation import check_at_least_one, check_partial, check_positive
from titer.models.evidence import Edge, Evidence
from titer.models.registry import register
from titer.models.search_space import LEARNING, Categorical, FloatRange, SearchSpace

NOT_IN_HISTORY = -100.0
"""Added to the copy score of every entity that is not an earlier answer to the query."""
GENERATED = "the generation mode, which does not use past answers"
"""Note of the evidence for the share of an answer that was not copied."""


@dataclass(frozen=True)
class CyGNetConfig:
    """Settings of ``CyGNet``. The defaults are the authors' values for ICEWS."""

    SEARCH: ClassVar[SearchSpace] = {
        **LEARNING,
        "model.dim": Categorical((64, 128, 200)),
        "model.copy_weight": FloatRange(0.1, 0.95),
        "model.copy_range": FloatRange(0.5, 8.0, log=True),
        "model.dropout": FloatRange(0.0, 0.5),
    }

    dim: int = 200
    """Size of the embeddings of entities, relations and time steps."""
    copy_weight: float = 0.8
    """α: weight of the copy mode; the generation mode has the weight 1 - α."""
    copy_range: float = 1.0
    """κ: bound on the absolute value of a copy score. With 1, the published value, the probabilities that two past
    answers are copied differ by a factor of at most e²."""
    frozen_vocabulary: bool = False
    """Whether only facts of the training split enter the copy vocabulary, as in the authors' test script."""
    dropout: float = 0.0
    """Dropout rate of the query's embedding."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "dim")
        check_positive(self, "copy_range")
        check_partial(self, "dropout")
        if not 0 < self.copy_weight < 1:
            raise ConfigError(f"model.copy_weight must be above 0 and below 1, not {self.copy_weight}")


@register
class CyGNet(Model):
    r"""Mixture of copying one of the query's past answers and generating any answer.

    Formula:
        $$
        \begin{aligned}
        q &= [e_s; e_r; k_t \mathbf{u}] \\
        P_c &= \mathrm{softmax}(\kappa \tanh(W_c q + b_c) + h), \qquad
            h_o = \begin{cases} 0 & (s, r, o, t') \text{ for some } t' < t \\ -100 & \text{otherwise} \end{cases} \\
        P_g &= \mathrm{softmax}(W_g q + b_g) \\
        P(o \mid s, r, t) &= \alpha P_c(o) + (1 - \alpha) P_g(o)
        \end{aligned}
        $$

        \(k_t \mathbf{u}\) is the embedding of a time step: a multiple of one learned unit vector. The copy vocabulary
        of a query, where \(h_o = 0\), is every answer that \((s, r, ?)\) had before the query's time. The loss is the
        cross-entropy over all entities. As in the authors' code, and unlike in the other models of this package, other
        true answers at the query's time are not excluded from the loss.

    Reference:
        Zhu, Chen, Fan, Cheng and Zhang, "Learning from History: Modeling Temporal Knowledge Graphs with Sequential
        Copy-Generation Networks", AAAI 2021.

    Differences from the publication:
        - The copy vocabulary follows the history through validation and test. The authors' test script freezes it at
          the end of training; ``frozen_vocabulary`` does the same, and the configurations that end in ``-frozen`` use
          it with the authors' \(\kappa\) and \(\alpha\).
        - A query without past answers has no copy mode: \(P = P_g\).
        - \(\kappa\) is a setting, ``copy_range``. The authors use 1, the published configurations of this package 5.
        - One model answers both directions by inverse relations. The paper trains one model for each direction.
        - \(k_t\) counts time steps as a share of the training split: it is 1 at the last time step of training. A time
          step outside the training split has the embedding of the nearest time step inside it.
        - There is no L2 penalty on the embeddings; the authors' has the weight 0.01. \(\alpha\) is 0.8 on WIKI and YAGO
          too, where the README of the authors' code has 0.5.
        - An entity without a fact in training keeps its initial embedding.

    Convention of the published figures:
        The authors' test script ranks with the static filter: every answer that is true at any time, in any split, is
        removed. ``titer.evaluation.published_conventions`` has this convention.

    Size:
        The TITer paper gives 8.568 million parameters for CyGNet. These are the two output layers for ICEWS14, without
        the embeddings.
    """

    name = "cygnet"
    Config = CyGNetConfig
    config: CyGNetConfig
    span: Tensor  # (2,) the first and the last time step of training

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
        """Store the first and the last time step of training."""
        if len(train):
            self.span.copy_(torch.tensor([int(train.time.min()), int(train.time.max())]))

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Return the cross-entropy of the answers."""
        return StepResult(functional.nll_loss(self.score(queries, history), answers))

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return log P of every entity. (queries, num_entities)"""
        return torch.logaddexp(*self._modes(queries, history))

    def _modes(self, queries: Queries, history: History) -> tuple[Tensor, Tensor]:
        """Return log α P_c and log (1 - α) P_g of every entity. (queries, num_entities) each"""
        query = self._query_embedding(queries, history)
        absence, weight = self._copy_vocabulary(queries, history)
        copy = self.config.copy_range * _scores(self.copy, query, history).tanh() + absence
        generate = _scores(self.generate, query, history)
        # Entities without a fact before the query are masked before the softmax, so that they get no probability.
        copy, generate = (
            mask_unseen(scores, queries, self.vocabulary.num_entities, history).log_softmax(dim=1)
            for scores in (copy, generate)
        )
        return weight.log() + copy, torch.log1p(-weight) + generate

    def _query_embedding(self, queries: Queries, history: History) -> Tensor:
        """Return q, the embeddings of subject, relation and time step. (queries, 3 dim)"""
        first, last = self.span
        share = (queries.time.clamp(first, last) - first + 1) / (last - first + 1)
        parts = [
            append_mean_rows(self.entity.weight, history)[queries.subject],
            self.relation(queries.relation),
            share[:, None] * self.unit_step,
        ]
        return self.dropout(torch.cat(parts, dim=1))

    def _copy_vocabulary(self, queries: Queries, history: History) -> tuple[Tensor, Tensor]:
        """Return h, and the weight of copying: 0 without a past answer. (queries, num_entities), (queries, 1)"""
        elapsed = self._elapsed(queries, history)
        row, answer = history.pair_index.answers_ever(queries.subject, queries.relation, elapsed)
        shape = (len(queries), history.vocabulary.num_entities)
        absence = torch.full(shape, NOT_IN_HISTORY, device=row.device)
        absence[row, answer] = 0.0
        weight = torch.zeros(len(queries), 1, device=row.device)
        weight[row] = self.config.copy_weight
        return absence, weight

    def _elapsed(self, queries: Queries, history: History) -> Tensor:
        """Return the time steps from the first fact of the history to the end of the copy vocabulary. (queries,)"""
        time = queries.time
        if self.config.frozen_vocabulary:
            time = torch.minimum(time, self.span[1] + 1)
        return (time - history.first_time).clamp(0, LAST_STEP)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the past facts that the answer is copied from, and the share of the generation mode.

        The copy mode depends on whether an answer is in the history, not on how often, so its facts have equal shares.
        """
        elapsed = int(self._elapsed(query, history))
        relation, age = history.pair_index.facts_between(query.subject, answer, elapsed)
        times = (history.first_time + elapsed - age[relation == query.relation]).tolist()
        if not times:
            return [Evidence((), 1.0, GENERATED)]
        modes = torch.stack([mode[0, answer] for mode in self._modes(query, history)])
        copied, generated = modes.softmax(dim=0).tolist()
        edges = (Edge(int(query.subject), int(query.relation), answer, time) for time in sorted(times, reverse=True))
        found = [Evidence((edge,), copied / len(times)) for edge in edges]
        return sorted([*found, Evidence((), generated, GENERATED)], key=lambda item: -item.share)[:limit]


def _scores(layer: nn.Linear, query: Tensor, history: History) -> Tensor:
    """Return the layer's output for every entity, including those added after training. (queries, num_entities)"""
    bias = append_mean_rows(layer.bias[:, None], history)[:, 0]
    return functional.linear(query, append_mean_rows(layer.weight, history), bias)
