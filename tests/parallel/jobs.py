"""Jobs that several processes do together, and one process alone, for comparison."""

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from strategies import random_facts
from titer.data.dataset import Dataset
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.errors import TiterError
from titer.evaluation.evaluate import evaluate
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.registry import model_class
from titer.models.titer import roll_out as roll_out_module
from titer.parallel import gradients, processes, statistics
from titer.parallel.parts import part_of_batch
from titer.training.config import Config
from titer.training.steps import make_stepper

SMALL: dict[str, dict[str, Any]] = {
    "cygnet": {"dim": 8},
    "de_simple": {"dim": 8, "dropout": 0.0},
    "path_mixture": {
        "dim": 8,
        "relation_dim": 4,
        "hidden_dim": 8,
        "rank": 4,
        "dropout": 0.0,
        "entity_dropout": 0.0,
    },
    "re_gcn": {"dim": 8, "channels": 3, "dropout": 0.0, "names": True},
    "renet": {"dim": 8, "attention_dim": 4, "dropout": 0.0, "question_dropout": 0.0},
    "ta_distmult": {"dim": 8, "dropout": 0.0},
    "tango_distmult": {"dim": 8, "dropout": 0.0},
    "tango_tucker": {"dim": 4, "dropout": 0.0},
    "tirgn": {"dim": 8, "channels": 3, "dropout": 0.0, "steps": 2},
    "titer": {
        "entity_dim": 8,
        "time_dim": 4,
        "relation_dim": 8,
        "state_dim": 8,
        "hidden_dim": 8,
        "num_edges": 10,
        "num_snapshots": 5,
        "entropy_decays_per": "epoch",
    },
    "tntcomplex": {"dim": 8, "dropout": 0.0},
    "ttranse": {"dim": 8},
    "xerte": {"entity_dim": 8, "time_dim": 4, "attention_dim": 8, "num_edges": [8, 8], "kept_edges": 8, "dropout": 0.0},
}
"""All models that are trained by gradients, small and without randomness in training."""
NUM_STEPS = 3
BATCH_SIZE = 37
NUM_ROWS, DIM = 50, 4


def data() -> Dataset:
    vocabulary = Vocabulary.numbered(15, 3)
    train, valid = random_facts(0, 300, 15, 3, 10), random_facts(1, 40, 15, 3, 3)
    later = type(valid)(valid.subject, valid.relation, valid.object, valid.time + 10)
    return Dataset("random", vocabulary, TimeAxis(), train, later, later[:0])


def model_of(name: str, dataset: Dataset) -> Model:
    torch.manual_seed(0)
    config = Config.from_dict({"model": dict(SMALL[name])}, name)
    model = model_class(name)(dataset.vocabulary, dataset.axis, config.model)
    model.prepare(dataset.train, dataset.valid)
    return model


# A walk that takes the most probable action does not depend on which process draws its numbers.
@patch.object(roll_out_module, "gumbel_noise", torch.zeros_like)
def trained(name: str) -> dict[str, Tensor]:
    """Return all weights after a few optimisation steps on batches of uneven size, and the logged values."""
    dataset = data()
    model = model_of(name, dataset).train()
    queries, answers = Queries.from_facts(dataset.train, dataset.vocabulary)
    history = History(dataset.train, dataset.vocabulary)
    config = Config.from_dict({"training": {"learning_rate": 0.01, "clip_gradient": 1.0}}, name).training
    stepper = make_stepper(model, queries, answers, history, config)
    # Adam divides gradients by their size: those that are zero but for rounding would become steps of full length.
    stepper.optimiser.param_groups[0]["eps"] = 1e-3
    rows = (queries.time == 7).nonzero()[:, 0]
    model.begin_epoch(1)
    for number in range(NUM_STEPS):
        stepper.step(rows.roll(number)[: BATCH_SIZE if number else 1 + len(rows) // 2])
    logged = {f"log.{key}": torch.tensor(value) for key, value in stepper.averages().items()}
    return {**model.state_dict(), **logged}


def ranks() -> dict[str, Tensor]:
    """Return the result of an evaluation in many batches."""
    dataset = data()
    found = evaluate(model_of("cygnet", dataset), dataset, "valid", batch_size=7)
    columns = {name: getattr(found.ranks, name) for name in ("better", "equal", "reached")}
    return {**columns, "probability": found.confidence.probability, "correct": found.confidence.correct}


def whole_gradients() -> dict[str, Tensor]:
    """Return the gradients of the parts of all processes, summed up here."""
    parts = [parameters_of(number) for number in range(2)]
    sums = {}
    for name in parts[0]:
        found = [part[name].grad for part in parts if part[name].grad is not None]
        if found:
            sums[name] = torch.stack([gradient.to_dense() for gradient in found if gradient is not None]).sum(dim=0)
    return sums


def parameters_of(number: int) -> dict[str, nn.Parameter]:
    """Return parameters whose gradients differ between processes: dense, in few rows, in many, in one, in none."""
    generator = torch.Generator().manual_seed(number)
    shapes = {"dense": (3, 2), "scalar": (), "few": (NUM_ROWS, DIM), "many": (NUM_ROWS, DIM), "one": (NUM_ROWS, DIM)}
    shapes |= {"none": (2,), "small": (2,), "sparse": (NUM_ROWS, DIM), "one_sparse": (NUM_ROWS, DIM)}
    found = {name: nn.Parameter(torch.zeros(shape)) for name, shape in shapes.items()}
    for name, parameter in found.items():
        if name != "none" and not (name in ("one", "small", "one_sparse") and number):
            parameter.grad = torch.randn(parameter.shape, generator=generator)
    rows_of = {"few": 2 + 3 * number, "many": 45, "one": 3, "sparse": 4 + number, "one_sparse": 2}
    for name, rows in rows_of.items():
        gradient = found[name].grad
        if gradient is not None:
            gradient[torch.randperm(NUM_ROWS, generator=generator)[rows:]] = 0
            if "sparse" in name:
                found[name].grad = gradient.to_sparse(1)
    return found


def summed_gradients() -> dict[str, Tensor]:
    """Return the gradients after the exchange, and what was sent for each table."""
    sent: list[int] = []
    original = gradients._sum_rows

    def count(gradient: Tensor, rows: Tensor, most: int) -> None:
        sent.append(most)
        original(gradient, rows, most)

    before, gradients.MIN_TABLE_ROWS, gradients._sum_rows = gradients.MIN_TABLE_ROWS, NUM_ROWS, count
    parameters = parameters_of(processes.rank())
    gradients.sum_gradients(list(parameters.values()))
    gradients.MIN_TABLE_ROWS, gradients._sum_rows = before, original
    assert all(parameters[name].grad.is_coalesced() for name in ("sparse", "one_sparse"))  # type: ignore[union-attr]
    found = {name: each.grad.to_dense() for name, each in parameters.items() if each.grad is not None}
    rows = parameters["sparse"].grad.indices()[0]  # type: ignore[union-attr]
    return {**found, "sent": torch.tensor(sent), "rows": rows}


def batch_statistics() -> dict[str, Tensor]:
    """Return mean and deviation of a batch of uneven size, and the results and the gradient of its normalisation."""
    torch.manual_seed(0)
    batch, norm = torch.randn(7, 3, 2) * 2 + 1, statistics.BatchNorm(3)
    rows, _ = part_of_batch(torch.arange(7))
    part = batch[rows].requires_grad_()
    (norm(part) * torch.arange(7)[rows, None, None]).square().sum().backward()
    assert part.grad is not None
    whole = torch.zeros(7, 3, 2)
    whole[rows] = part.grad
    found = {"mean": statistics.batch_mean(batch[rows]), "deviation": statistics.batch_deviation(batch[rows])}
    running = {name: value.float() for name, value in norm.named_buffers()}
    return {**found, **running, "gradient": processes.sum_over_processes(whole)}


def shared() -> dict[str, Tensor]:
    """Return what a process has received from the first."""
    number = processes.rank()
    own = {"weights": torch.full((2, 3), float(number)), "count": torch.tensor(number + 5)}
    value = processes.from_first(lambda: {"process": number, "text": "é"})
    assert value == {"process": 0, "text": "é"}
    return processes.tensors_from_first(own if number == 0 else {})


def failure() -> dict[str, Tensor]:
    """Return whether a failure of the first process was reported in this one."""

    def fail() -> None:
        raise TiterError("the disk is full")

    try:
        processes.from_first(fail)
    except TiterError as error:
        return {"reported": torch.tensor("the disk is full" in str(error))}
    return {"reported": torch.tensor(False)}


JOBS: dict[str, Callable[[], dict[str, Tensor]]] = {
    "ranks": ranks,
    "summed_gradients": summed_gradients,
    "batch_statistics": batch_statistics,
    "shared": shared,
    "failure": failure,
}
