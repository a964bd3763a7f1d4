"""Optimisation steps: computed directly, or recorded once as a CUDA graph and replayed."""

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, StepResult
from titer.parallel.gradients import sum_gradients
from titer.parallel.parts import part_of_batch
from titer.parallel.processes import size, sum_over_processes
from titer.training.batches import shuffled_batches
from titer.training.config import TrainingConfig
from titer.training.gradients import clip_gradients, coalesce_gradients
from titer.training.optimisers import EagerAdam

WARM_UP_STEPS = 3
"""Number of optimisation steps that CUDA needs before one is recorded."""


class Stepper:
    """Takes optimisation steps on batches of training queries, and sums up the values that they log."""

    def __init__(self, model: Model, queries: Queries, answers: Tensor, history: History, config: TrainingConfig):
        self.model, self.history, self.config = model, history, config
        self.queries, self.answers = queries.to(model.device), answers.to(model.device)
        on_gpu = model.device.type == "cuda"
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = EagerAdam(
            self.parameters,
            # A recorded graph reads the learning rate from this tensor, so it can change later.
            lr=torch.tensor(config.learning_rate, device=model.device) if on_gpu else config.learning_rate,
            weight_decay=config.weight_decay,
            fused=True,
            capturable=on_gpu,
        )
        self.learning_rate = config.learning_rate
        self.sums: dict[str, Tensor] = {}
        self.count = 0

    def set_learning_rate(self, value: float) -> None:
        """Set the learning rate of the following optimisation steps."""
        if value == self.learning_rate:
            return
        self.learning_rate = value
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(value)
            else:
                group["lr"] = value

    def step(self, rows: Tensor) -> None:
        """Take one optimisation step on the queries of the given rows."""
        self._compute(rows)
        self.count += 1

    def batches(self) -> list[Tensor]:
        """Return the rows of every batch of an epoch, in random order."""
        return shuffled_batches(self.queries, self.config.batch_size, by_time=self.model.batch_by_time)

    def _compute(self, rows: Tensor) -> None:
        part, share = part_of_batch(rows)
        queries, answers = self.queries.select(part), self.answers.index_select(0, part)
        self._optimise(self.model.training_step(queries, answers, self.history), share)

    def _optimise(self, result: StepResult, share: float = 1.0) -> None:
        """Update the weights by the gradient of the batch, of which this process has computed a share."""
        self.optimiser.zero_grad(set_to_none=True)
        (result.loss if share == 1 else share * result.loss).backward()
        coalesce_gradients(self.parameters)
        sum_gradients(self.parameters)
        if self.config.clip_gradient:
            clip_gradients(self.parameters, self.config.clip_gradient)
        self.optimiser.step()
        for name, value in {"loss": result.loss, **result.log}.items():
            if name not in self.sums:
                self.sums[name] = torch.zeros((), device=self.model.device)
            self.sums[name] += value.detach() if share == 1 else share * value.detach()

    def averages(self) -> dict[str, float]:
        """Return the means of all values logged since the last call."""
        totals = {name: sum_over_processes(total) for name, total in self.sums.items()}
        means = {name: float(total) / max(self.count, 1) for name, total in totals.items()}
        for total in self.sums.values():
            total.zero_()
        self.count = 0
        return means


class GraphedStepper(Stepper):
    """Records an optimisation step as a CUDA graph and replays it, to save the launch time of many small kernels."""

    def __init__(self, model: Model, queries: Queries, answers: Tensor, history: History, config: TrainingConfig):
        super().__init__(model, queries, answers, history, config)
        self.rows = torch.zeros(config.batch_size, dtype=torch.int64, device=model.device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.warm_up = torch.cuda.Stream()
        self.taken = 0

    def step(self, rows: Tensor) -> None:
        """Take one optimisation step. A batch of another size than the recorded one is computed without the graph."""
        self.count += 1
        if len(rows) != len(self.rows):
            self._compute(rows)  # the graph has gradients of its own, so this does not affect it
            return
        self.rows.copy_(rows)
        if self.taken < WARM_UP_STEPS:
            # CUDA requires a stream of its own for the steps before a recording; they train the model like all others.
            self.warm_up.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.warm_up):
                self._compute(self.rows)
            torch.cuda.current_stream().wait_stream(self.warm_up)
        else:
            if self.graph is None:
                self._record()
            assert self.graph is not None
            self.graph.replay()
        self.taken += 1

    def _record(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._compute(self.rows)


def make_stepper(model: Model, queries: Queries, answers: Tensor, history: History, config: TrainingConfig) -> Stepper:
    """Return the fastest stepper for a model on its device.

    Args:
        model: The model to train, on the device to train on.
        queries: All training queries.
        answers: The true answer to each query.
        history: The facts of the training split, on the device of the model.
        config: The settings of the training.

    Returns:
        On a GPU for one process, a stepper that records optimisation steps as CUDA graphs, if the model and the
        settings allow it; otherwise one that keeps plans, if the model has them, or a ``Stepper``.
    """
    from titer.training.planned import PlannedStepper, RecordingStepper

    # Processes exchange gradients within a step, which a graph cannot record.
    may_record = model.device.type == "cuda" and config.cuda_graph and size() == 1
    if type(model).plans is not Model.plans:
        kind = RecordingStepper if may_record else PlannedStepper
    else:
        kind = GraphedStepper if may_record and model.has_static_shapes else Stepper
    return kind(model, queries, answers, history, config)
