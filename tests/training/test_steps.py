"""Optimisation steps: the settings of the optimiser, the learning rate and the logged means."""

from typing import Any

import pytest
import torch
from torch import Tensor

from titer.data.dataset import Dataset
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import StepResult
from titer.training.config import TrainingConfig
from titer.training.steps import Stepper
from training.tiny_model import TinyModel


class Indifferent(TinyModel):
    """A model whose loss does not depend on its weights."""

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        return StepResult(torch.stack([0 * parameter.sum() for parameter in self.parameters()]).sum())


def after_a_step(kind: type[TinyModel], dataset: Dataset, config: TrainingConfig) -> tuple[TinyModel, Tensor]:
    """Return a model after one optimisation step, and its entity embeddings before."""
    torch.manual_seed(0)
    model = kind(dataset.vocabulary, dataset.axis)
    before = model.entity.weight.detach().clone()
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    stepper = Stepper(model, queries, answers, History(dataset.train, dataset.vocabulary), config)
    stepper.step(torch.arange(64))
    return model, before


@pytest.mark.parametrize(("bound", "expected"), [(0.25, 0.25), (0.01, 0.01), (1e6, None), (0.0, None)])
def test_the_norm_of_the_gradient_has_an_upper_bound(world_data: Dataset, bound: float, expected: float | None):
    model, _ = after_a_step(TinyModel, world_data, TrainingConfig(clip_gradient=bound))
    norm = float(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm())
    if expected is None:
        assert norm > 0.3  # not clipped
    else:
        assert norm == pytest.approx(expected, rel=1e-3)


def test_weight_decay_shrinks_weights(world_data: Dataset):
    model, before = after_a_step(Indifferent, world_data, TrainingConfig(weight_decay=0.1))
    assert bool((model.entity.weight.abs() < before.abs()).all())
    model, before = after_a_step(Indifferent, world_data, TrainingConfig())
    assert torch.equal(model.entity.weight, before)


def make_stepper_of(kind: type[TinyModel], dataset: Dataset, **settings: Any) -> Stepper:
    torch.manual_seed(0)
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary)
    return Stepper(kind(dataset.vocabulary, dataset.axis), queries, answers, history, TrainingConfig(**settings))


def test_a_changed_learning_rate_applies_from_the_next_step(world_data: Dataset):
    stepper = make_stepper_of(TinyModel, world_data, learning_rate=0.01)
    entity = stepper.model.get_parameter("entity.weight")
    for rate in (0.01, 0.002, 0.0):
        stepper.set_learning_rate(rate)
        before = entity.detach().clone()
        stepper.step(torch.arange(64))
        change = float((entity.detach() - before).abs().max())
        assert change == pytest.approx(rate, rel=0.2)  # Adam changes a weight by about the learning rate


class Counting(TinyModel):
    """A model that logs how many batches it has seen, and their sizes."""

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        result = super().training_step(queries, answers, history)
        log = {"batches": torch.tensor(float(self.steps)), "size": torch.tensor(float(len(queries)))}
        return StepResult(result.loss, log)


def test_averages_are_means_since_the_last_call(world_data: Dataset):
    stepper = make_stepper_of(Counting, world_data)
    for size in (4, 8, 3):
        stepper.step(torch.arange(size))
    means = stepper.averages()
    assert set(means) == {"loss", "batches", "size"}
    assert (means["batches"], means["size"]) == (2.0, 5.0)
    stepper.step(torch.arange(7))
    assert stepper.averages()["size"] == 7.0
