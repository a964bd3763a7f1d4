"""The size of a model: its parameters, and its multiply-adds counted while it runs."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from titer.data.dataset import Dataset
from titer.graph.queries import Queries
from titer.graph.stored_history import history_of
from titer.models.base import Model

BATCH_SIZE = 512
"""Queries in the counted batch. Work they share, such as a product with a whole table, is divided among them."""


@dataclass(frozen=True)
class Size:
    """The number of parameters, and the multiply-adds of all matrix products, averaged over a batch of queries."""

    parameters: int
    multiply_adds_per_step: int | None
    """Of one hop of one walk in training, forward pass only; a model that does not walk has one hop per query. What
    several walks of a query share is divided among them.

    The name is that of the key in the result files.
    """
    multiply_adds_per_question: int
    """Of scoring every entity as the answer to one query, as in evaluation.

    The name is that of the key in the result files.
    """

    @classmethod
    def of(cls, model: Model, dataset: Dataset) -> "Size":
        """Count on queries about the last training facts, on a CPU copy, where no fused kernel hides a product."""
        copy = deepcopy(model).cpu().train()
        history = history_of(dataset, "train")
        queries, answers = _last_queries(dataset)
        per_hop = None
        if copy.is_trained_by_gradients:
            walked = multiply_adds(lambda: copy.training_step(queries, answers, history))
            per_hop = round(walked / BATCH_SIZE / copy.hops_per_query)
        copy.eval()
        return cls(
            parameters=sum(parameter.numel() for parameter in copy.parameters()),
            multiply_adds_per_step=per_hop,
            multiply_adds_per_question=round(multiply_adds(lambda: copy.score(queries, history)) / BATCH_SIZE),
        )

    def to_dict(self) -> dict[str, int | None]:
        """Return the counts by name, for JSON."""
        return asdict(self)


def _last_queries(dataset: Dataset) -> tuple[Queries, Tensor]:
    """Return a batch of queries about the last training facts, all at one time; too few facts are repeated."""
    last = dataset.train[-(BATCH_SIZE // 2) :]
    queries, answers = Queries.from_facts(last, dataset.vocabulary)
    rows = torch.arange(BATCH_SIZE) % len(queries)
    time = torch.full((BATCH_SIZE,), int(last.time.max()))
    return Queries(queries.subject[rows], queries.relation[rows], time), answers[rows]


@torch.no_grad()
def multiply_adds(work: Callable[[], object]) -> int:
    """Return the multiply-adds of the matrix products of some work, and leave the random state as it was."""
    with torch.random.fork_rng(devices=[]), FlopCounterMode(display=False, custom_mapping=_UNKNOWN_TO_TORCH) as counter:
        work()
    return counter.get_total_flops() // 2  # a multiply-add is two operations


def _of_mv(matrix: torch.Size, vector: torch.Size, **_: Any) -> int:
    return 2 * matrix.numel()


def _of_sampled_addmm(pattern: Tensor, x: Tensor, table: Tensor, **_: Any) -> int:
    return 2 * pattern.values().numel() * x.shape[1]


# The number of entries of a sparse matrix does not follow from its shape, so this formula receives the tensors.
# Functions have no such attribute of their own; torch looks for it.
_of_sampled_addmm._get_raw = True  # pyright: ignore[reportFunctionMemberAccess]

_UNKNOWN_TO_TORCH = {torch.ops.aten.mv: _of_mv, torch.ops.aten.sparse_sampled_addmm: _of_sampled_addmm}
