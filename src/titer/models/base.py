"""The base class of all models."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.evidence import Evidence
from titer.models.scores import UNREACHED, DenseScores, Scores

__all__ = ["UNREACHED", "Model", "NoConfig", "StepResult", "check_scores", "evaluating"]


@dataclass(frozen=True)
class StepResult:
    """The result of one optimisation step's forward pass.

    Attributes:
        loss: The loss to minimise, a scalar with a gradient: the mean over the batch.
        log: Further scalars by name. The training log has their means over each epoch.
    """

    loss: Tensor
    log: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class NoConfig:
    """The settings of a model that has none."""


class Model(nn.Module, ABC):
    """A model that scores every entity as the answer to a query.

    A subclass sets ``name``, implements ``score``, and is registered with ``titer.register``. Every other method has a
    default. A model with parameters also implements ``training_step``; a model that can justify its answers implements
    ``explain``.

    All parameters and persistent buffers are saved with a run and loaded again, so the results of ``prepare`` belong in
    buffers. A model sees past facts only through the ``History`` that it is given. Its look-ups take a time and return
    only facts before it, which keeps facts of the future out of a forecast.

    Attributes:
        name: The name by which configurations and commands refer to the model. Required.
        Config: A frozen dataclass with the model's settings, each with a default. An instance of it is ``self.config``.
            Its ``SEARCH`` declares the ranges in which ``titer tune`` looks for the best settings.
        evaluation_settings: The names of the settings that only ``score`` and ``explain`` read, so that they can be
            changed for a trained model.
        training_settings: Defaults for the ``[training]`` table of a configuration, used where it has no value. Those
            that depend on the data are returned by ``training_defaults``.
        training_notes: How defaults of the ``[training]`` table depend on the data, by the name of the setting.
        batch_by_time: Whether all queries of a training batch must have the same time step.
        has_static_shapes: Whether the tensors of ``training_step`` have the same shapes for every batch and the step
            never waits for the GPU, and no gradient is sparse. Only then can the training loop record the step as a
            CUDA graph.
        scoring_batch_sizes: By device type, how many queries to score in one batch: as many as fit into the cache of a
            CPU, and as many as keep a GPU busy.
        keeps_entity_states: Whether ``scores`` holds something for each entity at each time step of a batch. With many
            entities, a batch has few time steps then.
        scores_in_threads: Whether several threads may call ``scores`` at the same time, for different queries.
        temperature: Divisor of the logits in ``probabilities``. Fitted on the validation split after training.
        vocabulary: The entities and relations of the training data.
        axis: The calendar of the time steps.
        config: The settings, an instance of ``Config``.
    """

    name: ClassVar[str]
    Config: ClassVar[type] = NoConfig
    evaluation_settings: ClassVar[frozenset[str]] = frozenset()
    training_settings: ClassVar[Mapping[str, Any]] = {}
    training_notes: ClassVar[Mapping[str, str]] = {}
    batch_by_time: ClassVar[bool] = False
    has_static_shapes: ClassVar[bool] = False
    scoring_batch_sizes: ClassVar[Mapping[str, int]] = {"cpu": 128, "cuda": 1024}
    keeps_entity_states: ClassVar[bool] = False
    scores_in_threads: ClassVar[bool] = False
    temperature: float = 1.0

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: Any = None):
        """Create an untrained model.

        Args:
            vocabulary: The entities and relations of the training data. It fixes the sizes of embeddings.
            axis: The calendar of the time steps.
            config: An instance of ``Config``, or None for the default settings.
        """
        super().__init__()
        self.vocabulary = vocabulary
        self.axis = axis
        self.config = config if config is not None else self.Config()
        # Gives a model without parameters a device too; not saved.
        self.register_buffer("_place", torch.empty(0), persistent=False)

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Compute what the model needs before training, such as counts.

        Called once, before the first optimisation step, and not when a trained model is loaded: results that scoring
        needs must be stored in parameters or persistent buffers. The default does nothing.

        Args:
            train: The facts of the training split.
            valid: The facts of the validation split, to choose settings on.
        """

    @classmethod
    def training_defaults(
        cls, given: Mapping[str, Any], num_facts: int | None = None, device: str = "cpu"
    ) -> Mapping[str, Any]:
        """Return defaults for the ``[training]`` table of a configuration.

        The default returns ``training_settings``, whatever the data.

        Args:
            given: The values that the table has.
            num_facts: The number of facts to train on, if it is known.
            device: The type of the device that trains, ``cpu`` or ``cuda``.
        """
        return cls.training_settings

    def begin_epoch(self, epoch: int) -> None:
        """Adjust what changes in the course of training.

        Called before each epoch. The default does nothing.

        Args:
            epoch: Number of the epoch, counted from 1.
        """

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Compute the loss of a batch of queries with known answers.

        Required of a model that has parameters; called in training mode.

        Args:
            queries: The batch. Queries of several times, unless ``batch_by_time`` is set.
            answers: The entity id of the true answer to each query. Shape ``(len(queries),)``.
            history: All facts of the training split, those at and after the time of a query included; its methods
                return only the facts before the time they are given.

        Returns:
            The loss, and values to log.

        Raises:
            TypeError: The model has no parameters to train.
        """
        raise TypeError(f"{self.name} has no parameters to train")

    def plans(self, queries: Queries, answers: Tensor, sizes: Sequence[int], history: History) -> Sequence[Any] | None:
        """Look up all that ``training_step`` reads of the facts for some batches, apart from the parameters.

        A model that overrides this also implements ``planned_step``. The training loop then divides the queries into
        batches once, and keeps their plans for the following epochs. A plan is one of ``titer.models.common.plan``.

        Args:
            queries: The queries of some batches, one batch after another.
            answers: As for ``training_step``.
            sizes: The number of queries of each batch.
            history: As for ``training_step``.

        Returns:
            The plan of each batch; None, the default, if there are none for these batches.
        """
        return None

    def planned_step(self, plan: Any) -> StepResult:
        """Compute the loss of a batch from its plan, as ``training_step`` does.

        The shapes of all tensors depend on those of the plan alone, and the step never waits for the GPU.

        Args:
            plan: The plan of the batch, which may be padded.

        Returns:
            The loss, and values to log.

        Raises:
            TypeError: The model has no plans.
        """
        raise TypeError(f"{self.name} has no plans")

    @abstractmethod
    def score(self, queries: Queries, history: History) -> Tensor:
        """Score every entity as the answer to every query.

        The scores of a query may depend only on facts before its time, and not on the other queries of the batch.

        Args:
            queries: The queries, of any times.
            history: The known facts. ``history.vocabulary`` may have entities that were added after training, at the
                end. Such an entity is no answer (``-inf``) to a query before its first fact.

        Returns:
            Scores of shape ``(len(queries), history.vocabulary.num_entities)``; higher is better. ``-inf``
            (``UNREACHED``) excludes an entity. NaN is an error.
        """

    def scores(self, queries: Queries, history: History) -> Scores:
        """Score every entity as the answer to every query, whole or in blocks of entities.

        The default wraps the tensor of ``score``. A model whose memory must not grow with the number of entities
        overrides this method, and ``score`` returns ``self.scores(queries, history).dense()``.

        Args:
            queries: As for ``score``.
            history: As for ``score``.

        Returns:
            The same scores as those of ``score``.
        """
        return DenseScores(self.score(queries, history))

    def score_candidates(self, queries: Queries, candidates: Tensor, history: History) -> Tensor:
        """Score some entities as answers to each query, as in benchmarks that give candidates.

        The default looks them up in ``scores``. A model that can score a few entities at a lower cost overrides this.

        Args:
            queries: As for ``score``.
            candidates: Entity ids; one that is given twice has the same score twice. Shape
                ``(len(queries), candidates)``.
            history: As for ``score``.

        Returns:
            Scores in the order of the candidates, of the same shape: those of ``score`` up to a constant for each
            query, so that ranks among the candidates are the same.
        """
        row = torch.arange(len(queries), device=candidates.device)[:, None].expand_as(candidates)
        found = self.scores(queries, history).at(row.reshape(-1), candidates.reshape(-1))
        return found.view(candidates.shape)

    def logits(self, scores: Tensor) -> Tensor:
        """Convert scores to logits, whose differences are log odds.

        The default returns the scores. A model whose scores are non-negative weights returns their logarithms. Each
        logit depends on its own score alone, so blocks of scores are converted one by one.

        Args:
            scores: The result of ``score``, or a block of it. Shape ``(queries, num_entities)``.

        Returns:
            Logits of the same shape, in the same order within each row, with ``-inf`` where the score is ``-inf``.
        """
        return scores

    def probabilities(self, scores: Tensor) -> Tensor:
        """Convert scores to probabilities: softmax(logits / temperature).

        Args:
            scores: The result of ``score``. Shape ``(queries, num_entities)``.

        Returns:
            Probabilities of the same shape. Each row sums to 1, or is 0 throughout if all its scores are ``-inf``.
        """
        logits = self.logits(scores)
        reached = (logits > UNREACHED).any(dim=1, keepdim=True)
        return torch.where(reached, torch.softmax(logits / self.temperature, dim=1), 0.0)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the evidence for one answer to one query, strongest first.

        Every path begins at the subject of the query, ends at the answer, and consists of facts before the time of the
        query. The shares of all evidence of one answer sum to at most 1. They divide the weight of the answer among the
        paths that the model found for it, before the temperature is applied: the terms of a sum, the attention along
        paths, or the probability of walks. Where the score is not such a sum, as in TITer, whose score is that of the
        best walk, the docstring of the model says what is divided. A share is not the change of the probability that
        the removal of a path would cause; ``Forecaster.what_if`` measures that.

        Args:
            query: A single query.
            answer: The entity id of the answer to explain.
            history: The known facts, the same that the answer was scored with.
            limit: Maximum number of pieces of evidence to return.

        Returns:
            At most ``limit`` pieces of evidence, sorted by descending share. Empty if the model has no evidence for
            this answer. The default is always empty.
        """
        return []

    @classmethod
    def explains(cls) -> bool:
        """Return whether models of this class implement ``explain``."""
        return cls.explain is not Model.explain

    @property
    def is_trained_by_gradients(self) -> bool:
        """Whether the model has parameters for the training loop to optimise."""
        return any(parameter.requires_grad for parameter in self.parameters())

    @property
    def hops_per_query(self) -> int:
        """Number of hops that ``training_step`` samples for one query; 1 for a model that does not sample walks."""
        return 1

    _place: Tensor

    @property
    def device(self) -> torch.device:
        """The device that the model is on."""
        return self._place.device


@contextmanager
def evaluating(model: Model) -> Generator[None]:
    """Put a model into evaluation mode, and back into its earlier mode afterwards, also after an error.

    Args:
        model: The model to evaluate.
    """
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def check_scores(model: Model, scores: Tensor) -> None:
    """Reject scores that cannot be ranked.

    Args:
        model: The model that computed the scores.
        scores: The result of its ``score``. Shape ``(queries, num_entities)``.

    Raises:
        TiterError: If a score is NaN.
    """
    # The maximum of a row is NaN if any entry is, and is faster to compute than a mask of all entries.
    if bool(torch.isnan(scores.amax(dim=1)).any()):
        raise TiterError(f"{model.name} returned NaN scores, which cannot be ranked")
