"""Everything that an optimisation step reads of the facts and of the true answers."""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from titer.models.common.plan import Column
from titer.models.path_mixture.loss import Targets
from titer.models.path_mixture.mixture import MixturePlan
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.prior_plans import UNKNOWN, rows_of
from titer.models.path_mixture.query_batch import QueryBatch


@dataclass(frozen=True)
class TargetPlan:
    """The true answers of a batch, and the other true answers that the loss excludes."""

    # Padding queries count for nothing. Their answer is the last column, which is never excluded.
    answer: Annotated[Tensor, Column("queries", fill=UNKNOWN)]  # (queries,) row of the true answer
    weight: Annotated[Tensor, Column("queries")]  # (queries,) the weight of each query in the loss
    num_rest: Annotated[Tensor, Column("queries", fill=1)]  # (queries,) float, see ``Targets``
    num_excluded_rest: Annotated[Tensor, Column("queries")]  # (queries,) float, see ``Targets``
    excluded_row: Annotated[Tensor, Column("excluded", of="queries")]  # (excluded,) the query
    excluded_column: Annotated[Tensor, Column("excluded")]  # (excluded,) row of the other true answer
    num_entities: int

    @classmethod
    def of(cls, batch: QueryBatch, answers: Tensor, others: tuple[Tensor, Tensor], weight: float) -> "TargetPlan":
        """Look up the rows of all true answers; ``others`` are pairs of query and other true answer."""
        row, column = others[0], rows_of(batch, others[1])
        is_known = column != UNKNOWN
        known = positions(is_known)
        unknown = torch.zeros(len(batch), device=answers.device).index_add_(0, row, (~is_known).float())
        num_unknown = batch.num_entities - batch.pair_index.num_known(batch.elapsed)
        return cls(
            answer=rows_of(batch, answers),
            weight=torch.full_like(unknown, weight),
            num_rest=num_unknown - unknown,
            num_excluded_rest=unknown,
            excluded_row=row.index_select(0, known),
            excluded_column=column.index_select(0, known),
            num_entities=batch.num_entities,
        )

    def targets(self, hidden: Tensor, smoothing: float) -> Targets:
        """Return the positions in a matrix with a column for each element of ``hidden`` and one for all others."""
        num_known = len(hidden)
        return Targets(
            answer=self.answer.clamp(max=num_known).long(),
            excluded=self.excluded_row.long() * (num_known + 1) + self.excluded_column,
            num_rest=self.num_rest,
            num_excluded_rest=self.num_excluded_rest,
            num_hidden=(hidden < 0).sum(),
            num_entities=self.num_entities,
            smoothing=smoothing,
        )


@dataclass(frozen=True)
class TrainingPlan:
    """The plan of an optimisation step on queries of one time step."""

    mixture: MixturePlan
    targets: TargetPlan
