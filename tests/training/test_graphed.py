"""The recorded optimisation step against the ordinary one, and the choice between the two."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from titer.data.dataset import Dataset
from titer.data.small_world import small_world
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, StepResult
from titer.models.titer.config import TITerConfig
from titer.models.titer.model import TITer
from titer.training import steps
from titer.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from titer.training.config import TrainingConfig
from titer.training.steps import WARM_UP_STEPS, GraphedStepper, Stepper, make_stepper

BATCH_SIZE = 32
FULL = [BATCH_SIZE] * (WARM_UP_STEPS + 4)
RAGGED = [*FULL, 5]  # as at the end of an epoch

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


class Bilinear(Model):
    """DistMult with a buffer that counts optimisation steps. Its training step can be recorded."""

    name = "bilinear_of_test_graphed"
    has_static_shapes = True
    steps_taken: Tensor

    def __init__(self, vocabulary: Vocabulary, axis: Any, config: Any = None):
        super().__init__(vocabulary, axis, config)
        self.entity = nn.Parameter(torch.randn(vocabulary.num_entities, 16))
        self.relation = nn.Parameter(torch.randn(vocabulary.num_directed_relations, 16))
        self.register_buffer("steps_taken", torch.zeros(()))

    def score(self, queries: Queries, history: History) -> Tensor:
        product = self.entity.index_select(0, queries.subject) * self.relation.index_select(0, queries.relation)
        return product @ self.entity.T

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        scores = self.score(queries, history)
        self.steps_taken += 1
        hit = (scores.argmax(dim=1) == answers).float().mean()
        return StepResult(nn.functional.cross_entropy(scores, answers), {"hit": hit})


class Noisy(Bilinear):
    """The same with dropout, so that every optimisation step draws random numbers."""

    name = "noisy_of_test_graphed"

    def score(self, queries: Queries, history: History) -> Tensor:
        return nn.functional.dropout(super().score(queries, history), 0.3, self.training)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return small_world().dataset


def make_titer(dataset: Dataset, recipe: str = "tuned") -> Model:
    sizes: dict[str, Any] = {"entity_dim": 12, "time_dim": 6, "relation_dim": 10, "state_dim": 14, "hidden_dim": 16}
    settings = {**sizes, **TITerConfig.PRESETS[recipe], "num_edges": 10, "num_snapshots": 20, "dropout": 0.1}
    model = TITer(dataset.vocabulary, dataset.axis, TITerConfig(**settings))
    model.prepare(dataset.train, dataset.valid)
    return model


MAKERS: dict[str, Callable[[Dataset], Model]] = {
    "bilinear": lambda dataset: Bilinear(dataset.vocabulary, dataset.axis),
    "dropout": lambda dataset: Noisy(dataset.vocabulary, dataset.axis),
    "titer": make_titer,
    "titer_paper": lambda dataset: make_titer(dataset, "paper"),
    "titer_released": lambda dataset: make_titer(dataset, "released"),
}


def stepper_of(kind: type[Stepper], dataset: Dataset, model: str = "bilinear", **settings: Any) -> Stepper:
    """Return a stepper for a model on the GPU, with the same initial weights on every call."""
    torch.manual_seed(0)
    made = MAKERS[model](dataset).cuda().train()
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary).to("cuda")
    return kind(made, queries, answers, history, TrainingConfig(batch_size=BATCH_SIZE, **settings))


def take(stepper: Stepper, sizes: list[int], rates: list[float] | None = None, seed: int = 1) -> None:
    """Take one optimisation step for every batch size, on random rows, each with a learning rate if there are any."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    for i, size in enumerate(sizes):
        if rates is not None:
            stepper.set_learning_rate(rates[i])
        stepper.step(torch.randint(len(stepper.queries), (size,), generator=generator).cuda())


def weights(stepper: Stepper) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in stepper.model.state_dict().items()}


def check_same(graphed: Stepper, plain: Stepper) -> None:
    """Compare weights, buffers and what was reported. Sums on a GPU are not added up in a fixed order."""
    ours, expected = weights(graphed), weights(plain)
    for name, tensor in expected.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-3, atol=1e-4, msg=lambda m, n=name: f"{n}: {m}")
    assert graphed.averages() == pytest.approx(plain.averages(), rel=1e-3, abs=1e-4)


@needs_gpu
@pytest.mark.parametrize("model", MAKERS)
@pytest.mark.parametrize(
    "sizes",
    [FULL, RAGGED, [*RAGGED, *RAGGED], [5, *FULL], [5, 6, 7]],
    ids=["full", "ragged_last", "two_epochs", "ragged_first", "never_recorded"],
)
def test_graphed_steps_end_in_the_weights_of_plain_steps(dataset: Dataset, model: str, sizes: list[int]):
    graphed, plain = (stepper_of(kind, dataset, model) for kind in (GraphedStepper, Stepper))
    before = weights(graphed)
    for stepper in (graphed, plain):
        take(stepper, sizes)
    assert any(not torch.equal(tensor, before[name]) for name, tensor in weights(graphed).items())
    check_same(graphed, plain)


@needs_gpu
def test_graphed_steps_are_recorded_once_and_replayed(dataset: Dataset):
    graphed = stepper_of(GraphedStepper, dataset)
    assert isinstance(graphed, GraphedStepper)
    take(graphed, FULL[:WARM_UP_STEPS])
    assert graphed.graph is None
    take(graphed, [BATCH_SIZE])
    recorded = graphed.graph
    assert recorded is not None
    take(graphed, RAGGED)
    assert graphed.graph is recorded
    # Recording is not an optimisation step, and each replay is one.
    assert float(graphed.model.get_buffer("steps_taken")) == WARM_UP_STEPS + 1 + len(RAGGED)


@needs_gpu
def test_graphed_steps_follow_the_learning_rate(dataset: Dataset):
    rates = [0.01 * 0.5**i for i in range(len(RAGGED))]
    graphed, plain = (stepper_of(kind, dataset) for kind in (GraphedStepper, Stepper))
    for stepper in (graphed, plain):
        take(stepper, RAGGED, rates)
    check_same(graphed, plain)


@needs_gpu
def test_graphed_steps_with_the_learning_rate_zero_change_nothing(dataset: Dataset):
    graphed = stepper_of(GraphedStepper, dataset)
    take(graphed, FULL)
    before = weights(graphed)
    graphed.set_learning_rate(0.0)
    take(graphed, FULL)
    after = weights(graphed)
    assert torch.equal(after["entity"], before["entity"])
    graphed.set_learning_rate(0.1)
    take(graphed, FULL[:1])
    assert not torch.equal(weights(graphed)["entity"], after["entity"])


@needs_gpu
@pytest.mark.parametrize("settings", [{"clip_gradient": 0.01}, {"clip_gradient": 0.0}, {"weight_decay": 0.1}])
def test_graphed_steps_clip_and_decay_like_plain_steps(dataset: Dataset, settings: dict[str, Any]):
    graphed, plain = (stepper_of(kind, dataset, **settings) for kind in (GraphedStepper, Stepper))
    for stepper in (graphed, plain):
        take(stepper, FULL)
    check_same(graphed, plain)


@needs_gpu
@pytest.mark.parametrize("model", ["bilinear", "titer"])
def test_graphed_steps_resume_from_a_checkpoint(dataset: Dataset, model: str, tmp_path: Path):
    whole = stepper_of(Stepper, dataset, model)
    take(whole, RAGGED)
    whole.averages()
    take(whole, RAGGED, seed=2)
    interrupted = stepper_of(GraphedStepper, dataset, model)
    take(interrupted, RAGGED)
    save_checkpoint(tmp_path, interrupted.model, interrupted.optimiser, Progress(epoch=1), {})
    resumed = stepper_of(GraphedStepper, dataset, model)
    progress, complaints = load_checkpoint(tmp_path, resumed.model, resumed.optimiser, {})
    assert (progress.epoch, complaints) == (1, [])
    take(resumed, RAGGED, seed=2)
    check_same(resumed, whole)


@needs_gpu
@pytest.mark.parametrize("cuda_graph", [True, False])
def test_gpu_training_uses_the_graphed_stepper_where_it_may(dataset: Dataset, cuda_graph: bool):
    model = Bilinear(dataset.vocabulary, dataset.axis).cuda()
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary).to("cuda")
    made = make_stepper(model, queries, answers, history, TrainingConfig(cuda_graph=cuda_graph))
    assert type(made) is (GraphedStepper if cuda_graph else Stepper)


@pytest.mark.parametrize("cuda_graph", [True, False])
def test_training_on_the_cpu_uses_the_plain_stepper(dataset: Dataset, cuda_graph: bool):
    model = Bilinear(dataset.vocabulary, dataset.axis)
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary)
    made = make_stepper(model, queries, answers, history, TrainingConfig(cuda_graph=cuda_graph))
    assert type(made) is Stepper
    made.step(torch.arange(8))
    assert set(made.averages()) == {"loss", "hit"}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("has_static_shapes", [True, False])
@pytest.mark.parametrize("cuda_graph", [True, False])
def test_the_graphed_stepper_needs_a_gpu_static_shapes_and_the_setting(
    monkeypatch: pytest.MonkeyPatch, dataset: Dataset, device: str, has_static_shapes: bool, cuda_graph: bool
):
    model = Bilinear(dataset.vocabulary, dataset.axis)
    monkeypatch.setattr(Bilinear, "device", torch.device(device))  # no GPU is needed to choose
    monkeypatch.setattr(Bilinear, "has_static_shapes", has_static_shapes)
    monkeypatch.setattr(steps, "Stepper", lambda *_: "plain")
    monkeypatch.setattr(steps, "GraphedStepper", lambda *_: "graphed")
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary)
    chosen: object = make_stepper(model, queries, answers, history, TrainingConfig(cuda_graph=cuda_graph))
    assert chosen == ("graphed" if device == "cuda" and has_static_shapes and cuda_graph else "plain")
