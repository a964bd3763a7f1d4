"""What every forecaster must be able to do."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries

__all__ = ["Edge", "Evidence", "Model", "NoConfig", "Queries", "StepResult", "evaluating"]

UNREACHED = float("-inf")
"""The score of an answer that a model has nothing to say about."""


class Edge(NamedTuple):
    """A fact as it is walked along, from ``subject`` to ``object``; the relation may be an inverse."""

    subject: int
    relation: int
    object: int
    time: int

    def forward(self, vocabulary: Vocabulary) -> "Edge":
        """The fact itself, the way round it happened."""
        if not vocabulary.is_inverse(self.relation):
            return self
        return Edge(self.object, vocabulary.inverse(self.relation), self.subject, self.time)


@dataclass(frozen=True)
class Evidence:
    """Why an answer has its score: a path of past facts that ends at it, and its share of the score."""

    path: tuple[Edge, ...]
    """From the question's subject to the answer; empty where no single fact stands behind the share."""
    share: float
    """Between 0 and 1: how much of the answer's score this accounts for."""
    note: str = ""
    """What stands behind the share where there is no path."""
    numbers: tuple[dict[str, float], ...] = ()
    """What the model knows of each step of the path, such as its probability."""
    count: int = 1
    """How many paths it stands for, which differ in their dates alone; of those, ``path`` is the latest."""


@dataclass(frozen=True)
class StepResult:
    """What one training step gives back: the loss to go down, and numbers worth logging."""

    loss: Tensor
    log: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class NoConfig:
    """The settings of a model that has none."""


class Model(nn.Module, ABC):
    """A forecaster.

    A subclass names itself, says which settings it has, and answers ``score``; everything else has a default.
    Whatever it keeps in parameters and buffers is saved and loaded with the run. It sees the past only through
    the ``History`` it is handed, whose every method asks for a time and returns only what was before it.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig
    has_static_shapes: ClassVar[bool] = False
    """Whether a training step has the same shapes whatever the batch, and never waits for the GPU."""
    temperature: float = 1.0
    """How much less sure the model should be than its scores say; chosen on validation at the end of training."""
    training_settings: ClassVar[Mapping[str, Any]] = {}
    """How the model is best trained, where a configuration says nothing about it."""
    batch_by_time: ClassVar[bool] = False
    """Whether the questions of a training batch should all be of one time step."""

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: Any = None):
        super().__init__()
        self.vocabulary = vocabulary
        self.axis = axis
        self.config = config if config is not None else self.Config()
        # Shows where the model lives also when it keeps nothing else; not saved.
        self.register_buffer("_place", torch.empty(0), persistent=False)

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Called once, before the first step: estimate whatever is counted and not trained by gradients."""

    def begin_epoch(self, epoch: int) -> None:
        """Called before each epoch, counted from 1, for whatever changes in the course of training."""

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """The loss of a batch of questions whose answers are known; for models that have parameters."""
        raise TypeError(f"{self.name} has no parameters to train")

    @abstractmethod
    def score(self, queries: Queries, history: History) -> Tensor:
        """A score for every entity as the answer of every question, higher is better. (queries, num_entities)

        The entities are those of ``history.vocabulary``: names may have come after training, at the end, and one whose
        first fact is not before a question's time is no answer to it. ``-inf`` marks an answer that the model has
        nothing to say about. NaN is an error.
        """

    def logits(self, scores: Tensor) -> Tensor:
        """Scores on a scale where differences are log odds; a model whose scores are weights takes their logarithm."""
        return scores

    def probabilities(self, scores: Tensor) -> Tensor:
        """softmax(logits / temperature); where nothing is known, nobody gets any. (queries, num_entities)"""
        logits = self.logits(scores)
        known = (logits > UNREACHED).any(dim=1, keepdim=True)
        return torch.where(known, torch.softmax(logits / self.temperature, dim=1), 0.0)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """The evidence for one answer to one question, strongest first; nothing if the model has none to show."""
        return []

    @classmethod
    def explains(cls) -> bool:
        """Whether models of this kind have evidence to show."""
        return cls.explain is not Model.explain

    @property
    def is_trained_by_gradients(self) -> bool:
        """Whether there are parameters for the training loop to optimise."""
        return any(parameter.requires_grad for parameter in self.parameters())

    @property
    def steps_per_question(self) -> int:
        """How many steps the walks of one question have in training; 1 for a model that does not walk."""
        return 1

    _place: Tensor

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return self._place.device


@contextmanager
def evaluating(model: Model) -> Generator[None]:
    """While this lasts, the model is asked and not trained; then it is as it was before, whatever went wrong."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
