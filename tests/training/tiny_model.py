"""A minimal user model: DistMult with a recency bias. It shows what a new model needs."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer import History, Model, Queries, register
from titer.models.base import StepResult


@dataclass(frozen=True)
class TinyConfig:
    dim: int = 16
    fail_at: int = -1
    """The optimisation step at which the loss becomes NaN, to test what happens then."""


@register
class TinyModel(Model):
    name = "tiny"
    Config = TinyConfig
    config: TinyConfig

    def __init__(self, vocabulary, axis, config=None):
        super().__init__(vocabulary, axis, config)
        self.entity = nn.Embedding(vocabulary.num_entities, self.config.dim)
        self.relation = nn.Embedding(vocabulary.num_directed_relations, self.config.dim)
        self.recency = nn.Parameter(torch.ones(()))
        self.steps = 0

    def score(self, queries: Queries, history: History) -> Tensor:
        product = self.entity(queries.subject) * self.relation(queries.relation)
        scores = product @ self.entity.weight.T
        edges = history.latest(queries.subject, queries.time, 20)
        bonus = torch.where(edges.mask, self.recency, 0.0)
        target = edges.object.clamp(max=self.vocabulary.num_entities - 1)
        return scores.scatter_add(1, target, bonus)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        loss = nn.functional.cross_entropy(self.score(queries, history), answers)
        self.steps += 1
        return StepResult(loss * float("nan") if self.steps == self.config.fail_at else loss)
