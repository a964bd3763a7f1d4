"""Optimisation steps of models with plans: plans are kept from epoch to epoch, and on a GPU the steps are recorded."""

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model
from titer.models.common.plan import lean, num_bytes, pad, row_bytes, sizes_of, tensors
from titer.parallel.parts import part_of_batch
from titer.parallel.processes import size
from titer.training.config import TrainingConfig
from titer.training.steps import WARM_UP_STEPS, Stepper

SHARE_OF_MEMORY = 0.4
"""Share of the free memory that kept plans may take, in all processes together."""
TOGETHER = {"cuda": 8}
"""By device type, the number of batches that are planned together, so that the calls to a GPU are fewer; else 1."""
MAX_RECORDINGS = 24
"""Number of recorded graphs: batches of different sizes have graphs of their own."""
HEADROOM = 1.15
"""By how much a recorded graph is larger than the batch that it is recorded for."""
MAX_PADDING = 1.4
"""How many times the memory of a plan its padded version may have, as long as further graphs can be recorded."""


class PlannedStepper(Stepper):
    """Divides the queries into batches once, and keeps the plans of the batches as long as there is memory for them."""

    def __init__(self, model: Model, queries: Queries, answers: Tensor, history: History, config: TrainingConfig):
        super().__init__(model, queries, answers, history, config)
        # A resumed training has the same batches, since they depend on the seed alone.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._batches = super().batches()
        self._kept: dict[int, tuple[Tensor, Any]] = {}
        self._ahead: dict[int, tuple[Tensor, Any]] = {}
        self._following: dict[int, Tensor] = {}
        self._memory = int(SHARE_OF_MEMORY * free_memory(model.device) / size())
        self._num_together = TOGETHER.get(model.device.type, 1)

    def batches(self) -> list[Tensor]:
        """Return the same batches in every epoch, in random order."""
        order = [self._batches[i] for i in torch.randperm(len(self._batches)).tolist()]
        self._following = {id(rows): after for rows, after in pairwise(order)}
        return order

    def _compute(self, rows: Tensor) -> None:
        share = part_of_batch(rows)[1]
        plan = self._plan(rows)
        if plan is None:
            super()._compute(rows)
        else:
            self._take(plan, share)

    def _take(self, plan: Any, share: float) -> None:
        self._optimise(self.model.planned_step(plan), share)

    def _plan(self, rows: Tensor) -> Any:
        """Return the plan of this process's part of a batch, kept or new; None if the model has none for it."""
        plan = self._kept_plan(rows)
        if plan is not None:
            self._ahead.pop(id(rows), None)
            return plan
        # The batches that follow are planned together with this one.
        together = [rows]
        while len(together) < self._num_together and id(together[-1]) in self._following:
            together.append(self._following[id(together[-1])])
        together = [each for each in together if self._kept_plan(each) is None]
        parts = [part_of_batch(each)[0] for each in together]
        every = torch.cat(parts)
        with torch.no_grad():
            sizes = [len(each) for each in parts]
            plans = self.model.plans(self.queries[every], self.answers[every], sizes, self.history)
            if plans is None:
                return None
            for each, new in zip(together, plans, strict=True):
                self._keep(each, self._finished(lean(new)))
        plan = self._kept_plan(rows)
        self._ahead.pop(id(rows), None)
        return plan

    def _kept_plan(self, rows: Tensor) -> Any:
        for kept in (self._kept, self._ahead):
            found = kept.get(id(rows))
            if found is not None and found[0] is rows:
                return found[1]
        return None

    def _keep(self, rows: Tensor, plan: Any) -> None:
        """Keep a plan for all epochs if there is memory, and otherwise until it is used."""
        taken = num_bytes(plan)
        if taken <= self._memory:
            self._memory -= taken
            self._kept[id(rows)] = rows, plan
        else:
            self._ahead[id(rows)] = rows, plan

    def _finished(self, plan: Any) -> Any:
        return plan


@dataclass
class Recording:
    """An optimisation step for plans of given sizes, and its CUDA graph once it is recorded."""

    sizes: dict[str, int]
    plan: Any = None  # the tensors that the graph reads
    graph: torch.cuda.CUDAGraph | None = None

    def holds(self, sizes: dict[str, int]) -> bool:
        """Return whether a plan fits: a padded dimension is larger than what is in it."""
        return all(size < self.sizes[dim] for dim, size in sizes.items())

    def load(self, plan: Any) -> None:
        """Copy a padded plan to where the graph reads it."""
        if self.plan is None:
            self.plan = pad(plan, self.sizes)  # a copy
            return
        by_type: dict[torch.dtype, tuple[list[Tensor], list[Tensor]]] = {}
        for target, source in zip(tensors(self.plan), tensors(plan), strict=True):
            targets, sources = by_type.setdefault(source.dtype, ([], []))
            targets.append(target)
            sources.append(source)
        for targets, sources in by_type.values():
            # One kernel for all tensors; the function has no public name.
            torch._foreach_copy_(targets, sources)  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]


class RecordingStepper(PlannedStepper):
    """Records the step for a few sizes of plans as CUDA graphs, and pads every plan to one of these sizes."""

    def __init__(self, model: Model, queries: Queries, answers: Tensor, history: History, config: TrainingConfig):
        super().__init__(model, queries, answers, history, config)
        self.recordings: list[Recording] = []
        self._warm_up = torch.cuda.Stream()
        self._pool = torch.cuda.graph_pool_handle()
        self._taken = 0

    def _take(self, plan: Any, share: float) -> None:
        found = recording_for(self.recordings, plan, exactly=True)
        if found is None:
            super()._take(plan, share)
            return
        first = found.plan is None
        found.load(plan)
        self._taken += 1
        if first or self._taken <= WARM_UP_STEPS:
            # CUDA requires a stream of its own for the steps before a recording; they train the model like all others.
            self._warm_up.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._warm_up):
                self._optimise(self.model.planned_step(found.plan))
            torch.cuda.current_stream().wait_stream(self._warm_up)
            return
        if found.graph is None:
            self._record(found)
        assert found.graph is not None
        found.graph.replay()

    def _record(self, recording: Recording) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        recording.graph = torch.cuda.CUDAGraph()
        # All recordings share their memory: none is replayed while another one runs.
        with torch.cuda.graph(recording.graph, pool=self._pool):
            self._optimise(self.model.planned_step(recording.plan))

    def _finished(self, plan: Any) -> Any:
        found = recording_for(self.recordings, plan)
        return plan if found is None else pad(plan, found.sizes)


def recording_for(recordings: list[Recording], plan: Any, *, exactly: bool = False) -> Recording | None:
    """Return the recording to use for a plan; a new one is added if the others are too small or much too large.

    Args:
        recordings: The recordings so far.
        plan: A plan.
        exactly: Whether the plan is padded already, to the sizes of one of the recordings.

    Returns:
        The recording; None if the plan is too large for all of them and there are as many as allowed.
    """
    sizes = sizes_of(plan)
    if exactly:
        return next((each for each in recordings if each.sizes == sizes), None)
    per_row = row_bytes(plan)
    fitting = [each for each in recordings if each.holds(sizes)]
    best = min(fitting, key=lambda each: _padded_bytes(each.sizes, per_row), default=None)
    if best is not None and _padded_bytes(best.sizes, per_row) <= MAX_PADDING * _padded_bytes(sizes, per_row):
        return best
    new = Recording({dim: padded_size(size) for dim, size in sizes.items()})
    if len(recordings) >= MAX_RECORDINGS or any(each.sizes == new.sizes for each in recordings):
        return best
    recordings.append(new)
    return new


def padded_size(size: int) -> int:
    """Return a number of rows that leaves space for somewhat larger plans: a multiple of 256."""
    return 256 * (int(size * HEADROOM) // 256 + 1)


def _padded_bytes(sizes: dict[str, int], per_row: dict[str, int]) -> int:
    return sum(size * per_row[dim] for dim, size in sizes.items())


def free_memory(device: torch.device) -> int:
    """Return the free memory of a device, in bytes."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # not known on every system
        return 4 << 30
