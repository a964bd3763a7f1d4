"""Optimisation steps from kept plans, and recorded ones, against ordinary ones."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from titer.data.dataset import Dataset
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.common.plan import Column, Renamed, Unplanned, lean, num_bytes, pad, row_bytes, sizes_of, tensors
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.model import PathMixture
from titer.training import planned
from titer.training.config import TrainingConfig
from titer.training.planned import MAX_RECORDINGS, PlannedStepper, Recording, RecordingStepper, recording_for
from titer.training.steps import WARM_UP_STEPS, Stepper, make_stepper

SMALL: dict[str, Any] = {"dim": 8, "relation_dim": 8, "hidden_dim": 8, "rank": 4, "first_edges": 6, "second_edges": 5}

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def stepper_of(kind: type[Stepper], dataset: Dataset, device: str = "cpu", **settings: Any) -> Stepper:
    """Return a stepper for a path mixture, with the same initial weights on every call."""
    torch.manual_seed(0)
    model = PathMixture(dataset.vocabulary, dataset.axis, PathMixtureConfig(**{**SMALL, "dropout": 0.0, **settings}))
    model.prepare(dataset.train, dataset.valid)
    model.to(device).train()
    queries, answers = Queries.from_facts(dataset.train[-200:], dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary).to(device)
    config = TrainingConfig(batch_size=32, learning_rate=0.01, clip_gradient=5.0)
    stepper = kind(model, queries, answers, history, config)
    for group in stepper.optimiser.param_groups:
        # Adam divides by the size of gradients, so noise in one that is nearly zero would move its weight like others.
        group["eps"] = 1e-4
    return stepper


def train(stepper: Stepper, batches: list[Tensor], epochs: int) -> None:
    for _ in range(epochs):
        for rows in batches:
            stepper.step(rows)


def check_same(ours: Stepper, expected: Stepper, tolerance: float) -> None:
    wanted = expected.model.state_dict()
    for name, tensor in ours.model.state_dict().items():
        torch.testing.assert_close(
            tensor, wanted[name], rtol=tolerance, atol=tolerance, msg=lambda m, n=name: f"{n}: {m}"
        )
    assert ours.averages() == pytest.approx(expected.averages(), rel=1e-3)


@pytest.mark.slow
def test_kept_plans_train_the_same_weights_as_steps_without_plans(world_data: Dataset):
    ours, plain = (stepper_of(kind, world_data, entity_dropout=0.0) for kind in (PlannedStepper, Stepper))
    batches = ours.batches()[:4]
    train(ours, batches, 2)
    train(plain, batches, 2)
    check_same(ours, plain, 1e-3)


def test_a_plan_is_made_once_while_there_is_memory(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    made: list[int] = []
    plans = PathMixture.plans

    def counted(self: PathMixture, queries: Queries, answers: Tensor, sizes: list[int], history: History) -> Any:
        made.extend(sizes)
        return plans(self, queries, answers, sizes, history)

    monkeypatch.setattr(PathMixture, "plans", counted)
    monkeypatch.setattr(planned, "TOGETHER", {"cpu": 3})
    stepper = stepper_of(PlannedStepper, world_data)
    batches = stepper.batches()[:6]
    train(stepper, batches, 3)
    assert made == [len(rows) for rows in batches]
    made.clear()
    monkeypatch.setattr(planned, "free_memory", lambda _device: 0)
    stepper = stepper_of(PlannedStepper, world_data)
    batches = stepper.batches()[:6]
    train(stepper, batches, 2)
    assert made == 2 * [len(rows) for rows in batches]


def test_every_epoch_has_the_same_batches_in_another_order(world_data: Dataset):
    stepper, again = (stepper_of(PlannedStepper, world_data) for _ in range(2))
    first, second, third = stepper.batches(), stepper.batches(), again.batches()
    assert {id(rows) for rows in first} == {id(rows) for rows in second}
    assert [id(rows) for rows in first] != [id(rows) for rows in second]
    assert sorted(rows.tolist() for rows in first) == sorted(rows.tolist() for rows in third)
    every = torch.cat(first)
    assert sorted(every.tolist()) == list(range(len(stepper.queries)))


@dataclass(frozen=True)
class Part:
    value: Annotated[Tensor, Column("items", fill=-1)]


@dataclass(frozen=True)
class Whole:
    place: Annotated[Tensor, Column("rows", of="columns")]
    pair: Annotated[Tensor, Column("columns")]
    part: Annotated[Part, Renamed({"items": "rows"})]
    nothing: Annotated[Tensor | None, Column("never")]
    dropped: Annotated[Tensor | None, Unplanned()]
    number: int = 3


def whole(rows: int, columns: int) -> Whole:
    place = torch.arange(rows) % max(columns, 1)
    return Whole(place, torch.ones(columns, 2), Part(torch.arange(rows).float()), None, torch.ones(9))


@given(rows=st.integers(0, 9), columns=st.integers(0, 9), more=st.integers(1, 5))
def test_padding_keeps_what_a_plan_has_and_refers_to_padding(rows: int, columns: int, more: int):
    plan = lean(whole(rows, columns))
    assert plan.dropped is None
    assert sizes_of(plan) == {"rows": rows, "columns": columns}
    assert num_bytes(plan) == sum(row_bytes(plan)[dim] * size for dim, size in sizes_of(plan).items())
    sizes = {"rows": rows + more, "columns": columns + 2 * more}
    padded = pad(plan, sizes)
    assert sizes_of(padded) == sizes
    for found, expected in zip(tensors(padded), tensors(plan), strict=True):
        assert torch.equal(found[: len(expected)], expected)
    assert padded.place[rows:].tolist() == [columns + 2 * more - 1] * more
    assert padded.part.value[rows:].tolist() == [-1.0] * more
    assert (padded.nothing, padded.number) == (None, 3)


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000)), min_size=1, max_size=60))
def test_a_recording_holds_every_plan_it_is_chosen_for(plans: list[tuple[int, int]]):
    recordings: list[Recording] = []
    for rows, columns in plans:
        plan = lean(whole(rows, columns))
        found = recording_for(recordings, plan)
        if found is None:
            assert len(recordings) == MAX_RECORDINGS
            continue
        assert found.holds(sizes_of(plan))
        padded = pad(plan, found.sizes)
        assert recording_for(recordings, padded, exactly=True) is found
    assert len(recordings) <= MAX_RECORDINGS


def test_a_recording_reads_the_plan_that_was_loaded_last():
    recording = Recording({"rows": 8, "columns": 4})
    for rows in (5, 2, 7):
        plan = pad(lean(whole(rows, 3)), recording.sizes)
        recording.load(plan)
        assert all(map(torch.equal, tensors(recording.plan), tensors(plan)))
        assert recording.plan is not plan


def test_models_with_plans_keep_them(world_data: Dataset):
    made = stepper_of(make_stepper, world_data)  # type: ignore[arg-type]
    assert type(made) is PlannedStepper
    assert type(made.model).plans is not Model.plans


@pytest.mark.parametrize(("settings", "is_sampled"), [({}, False), ({"exact_entities": 1}, True)])
def test_with_more_entities_than_the_exact_loss_allows_the_loss_is_sampled(
    world_data: Dataset, settings: dict[str, Any], is_sampled: bool
):
    settings = {"entity_dropout": 0.0, "sampled_entities": 8, **settings}
    stepper = stepper_of(make_stepper, world_data, **settings)  # type: ignore[arg-type]
    (rows, *_), losses = stepper.batches(), list[float]()
    stepper.set_learning_rate(0.0)
    for _ in range(4):
        stepper.step(rows)
        losses.append(stepper.averages()["loss"])
    # Without dropout and with the same weights, only a sample of the candidates varies.
    assert len(set(losses)) == (len(losses) if is_sampled else 1)


@needs_gpu
@pytest.mark.parametrize("settings", [{}, {"members": 2}, {"names": False}, {"prior": False}, {"trust": False}])
def test_recorded_steps_train_the_same_weights_as_plain_ones(
    world_data: Dataset, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    from titer.models.path_mixture import trust_triton

    # Products in TF32 would add noise: they round other numbers, as sums on a GPU are not added up in a fixed order.
    monkeypatch.setattr(trust_triton, "FAST", trust_triton.PRECISE)
    settings = {"entity_dropout": 0.0, **settings}
    ours, plain = (stepper_of(kind, world_data, "cuda", **settings) for kind in (RecordingStepper, PlannedStepper))
    assert isinstance(ours, RecordingStepper)
    batches = ours.batches()[:8]
    train(ours, batches, 4)
    train(plain, batches, 4)
    assert any(recording.graph is not None for recording in ours.recordings)
    check_same(ours, plain, 1e-3)


@needs_gpu
def test_a_recorded_step_draws_new_random_numbers_each_time(world_data: Dataset):
    stepper = stepper_of(RecordingStepper, world_data, "cuda", dropout=0.3)
    (rows, *_), losses = stepper.batches(), list[float]()
    stepper.set_learning_rate(0.0)
    for _ in range(8):
        stepper.step(rows)
        losses.append(stepper.averages()["loss"])
    assert len(set(losses)) == len(losses)


@needs_gpu
def test_plans_without_a_recording_are_computed_plainly(world_data: Dataset, monkeypatch: pytest.MonkeyPatch):
    from titer.models.path_mixture import trust_triton

    monkeypatch.setattr(planned, "MAX_RECORDINGS", 1)
    monkeypatch.setattr(planned, "HEADROOM", 1.0)
    monkeypatch.setattr(trust_triton, "FAST", trust_triton.PRECISE)
    monkeypatch.setattr(planned, "TOGETHER", {})
    ours, plain = (
        stepper_of(kind, world_data, "cuda", entity_dropout=0.0) for kind in (RecordingStepper, PlannedStepper)
    )
    assert isinstance(ours, RecordingStepper)
    smallest, *_, largest = sorted(ours.batches(), key=lambda rows: num_bytes(plain._plan(rows)))  # type: ignore
    batches = [smallest, largest]
    train(ours, batches, WARM_UP_STEPS + 2)
    train(plain, batches, WARM_UP_STEPS + 2)
    small, large = (recording_for(ours.recordings, ours._plan(rows), exactly=True) for rows in batches)  # type: ignore
    assert small is not None
    assert small.graph is not None
    assert large is None
    check_same(ours, plain, 1e-3)
