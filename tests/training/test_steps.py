"""Settings of the optimiser that would go unnoticed if they were ignored."""

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
    """A model whose loss is the same whatever its weights."""

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        return StepResult(torch.stack([0 * parameter.sum() for parameter in self.parameters()]).sum())


def after_a_step(kind: type[TinyModel], dataset: Dataset, config: TrainingConfig) -> tuple[TinyModel, Tensor]:
    """A model that took a step, and the weights of its entities before."""
    torch.manual_seed(0)
    model = kind(dataset.vocabulary, dataset.axis)
    before = model.entity.weight.detach().clone()
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    stepper = Stepper(model, queries, answers, History(dataset.train, dataset.vocabulary), config)
    stepper.step(torch.arange(64))
    return model, before


@pytest.mark.parametrize(("bound", "wanted"), [(0.25, 0.25), (0.01, 0.01), (1e6, None), (0.0, None)])
def test_the_gradient_is_at_most_as_long_as_its_bound(world_data: Dataset, bound: float, wanted: float | None):
    model, _ = after_a_step(TinyModel, world_data, TrainingConfig(clip_gradient=bound))
    norm = float(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm())
    if wanted is None:
        assert norm > 0.3  # as long as it is by itself
    else:
        assert norm == pytest.approx(wanted, rel=1e-3)


def test_weight_decay_draws_weights_to_zero(world_data: Dataset):
    model, before = after_a_step(Indifferent, world_data, TrainingConfig(weight_decay=0.1))
    assert bool((model.entity.weight.abs() < before.abs()).all())
    model, before = after_a_step(Indifferent, world_data, TrainingConfig())
    assert torch.equal(model.entity.weight, before)
