"""Calibration: whether top answers with a probability of 70 % are right in 70 of 100 cases."""

from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor

from titer.models.common.row_pieces import row_pieces
from titer.models.scores import UNREACHED, ScoreBlock, Scores

NUM_BINS = 15


@dataclass(frozen=True)
class CalibrationBin:
    """Queries whose top answers have similar probabilities."""

    queries: int
    """The number of queries."""
    confidence: float
    """The mean probability of their top answers."""
    accuracy: float
    """The share of them whose top answer is right."""


@dataclass(frozen=True, repr=False)
class Confidence:
    """The probabilities of top answers, and whether they were right; other true answers were masked.

    Attributes:
        probability: The probability of the top answer to each query. Shape (queries,).
        correct: Whether the top answer is the true answer of the query. Shape (queries,).
    """

    probability: Tensor
    correct: Tensor

    @classmethod
    def empty(cls, num_queries: int) -> "Confidence":
        """Allocate the result for a number of queries, to be filled by ``put``.

        Args:
            num_queries: The number of queries.

        Returns:
            Probabilities of 0, none of them correct.
        """
        return cls(torch.zeros(num_queries), torch.zeros(num_queries, dtype=torch.bool))

    def put(self, rows: Tensor, part: "Confidence") -> None:
        """Store the result of one batch in the given rows.

        Args:
            rows: The rows of the batch. Shape (batch,).
            part: The result of the batch.
        """
        self.probability[rows] = part.probability.cpu()
        self.correct[rows] = part.correct.cpu()

    def bins(self) -> list[CalibrationBin]:
        """Return the reliability table: queries in bins of equal width by probability, without empty bins."""
        place = (self.probability.double() * NUM_BINS).long().clamp(max=NUM_BINS - 1)
        groups = [place == number for number in range(NUM_BINS)]
        return [
            CalibrationBin(
                int(group.sum()),
                float(self.probability[group].double().mean()),
                float(self.correct[group].double().mean()),
            )
            for group in groups
            if bool(group.any())
        ]

    def expected_calibration_error(self) -> float:
        """Return the mean absolute difference between probability and accuracy over the bins, weighted by size."""
        bins = self.bins()
        return sum(b.queries * abs(b.confidence - b.accuracy) for b in bins) / sum(b.queries for b in bins)

    def to_dict(self) -> dict[str, object]:
        """Return the calibration error and the bins, for JSON."""
        error = self.expected_calibration_error()
        return {"expected_calibration_error": error, "bins": [asdict(b) for b in self.bins()]}

    def __str__(self) -> str:
        mean, right = self.probability.mean(), self.correct.double().mean()
        error = self.expected_calibration_error()
        return f"mean probability of top answers {mean:.1%}, {right:.1%} of them right, expected error {error:.2%}"


class TopAnswers:
    """The top answer of each query and its probability at one or several temperatures, from blocks of logits.

    As in the ranking, predicting one of several true answers is not penalised for the others: those are no candidates.
    """

    def __init__(self, scores: Scores, others: tuple[Tensor, Tensor]):
        """Begin without any block.

        Args:
            scores: The scores whose blocks will be added.
            others: Other true answers, as pairs (row, entity).
        """
        self._row, order = torch.sort(others[0])
        entity = others[1].index_select(0, order)
        self._scores, self._position = scores, scores.position(entity)
        self._best = torch.full((scores.num_queries,), UNREACHED, device=entity.device)
        self._entity = torch.full_like(self._best, -1, dtype=torch.int64)
        self._sums: Tensor | None = None  # (temperatures, queries) of exp((logit - best) / temperature)

    def add(self, block: ScoreBlock, *temperatures: float) -> None:
        """Add the logits of a block.

        Args:
            block: A block of logits.
            *temperatures: The divisors of the logits, the same for all blocks.
        """
        column, width = self._position - block.start, block.values.shape[1]
        inside = ((column >= 0) & (column < width)).nonzero()[:, 0]
        row, column = self._row.index_select(0, inside), column.index_select(0, inside)
        pieces, bounds = list(row_pieces(block.values)), [0, len(row)]
        if len(pieces) > 1:
            stops = torch.tensor([0, *(piece.stop for piece in pieces)], dtype=row.dtype, device=row.device)
            bounds = torch.searchsorted(row, stops).tolist()
        if self._sums is None:
            self._sums = self._best.new_zeros(len(temperatures), len(self._best))
        for rows, (first, last) in zip(pieces, pairwise(bounds), strict=True):
            values = block.values[rows].clone()
            if last > first:
                at = (row[first:last] - rows.start) * width + column[first:last]
                values.view(-1).index_fill_(0, at, UNREACHED)
            self._add_rows(rows, values, block.start, temperatures, self._sums)

    def _add_rows(self, rows: slice, values: Tensor, start: int, temperatures: tuple[float, ...], sums: Tensor) -> None:
        """Add the logits of some queries, which are overwritten."""
        earlier = self._best[rows]
        highest, position = values.max(dim=1)
        entity = self._scores.entity(position + start)
        self._entity[rows] = torch.where(highest > earlier, entity, self._entity[rows])
        best = torch.maximum(earlier, highest)
        base = torch.where(best > UNREACHED, best, 0.0)
        before = torch.where(earlier > UNREACHED, earlier - base, 0.0)
        values -= base[:, None]
        exponent = torch.empty_like(values)
        for total, temperature in zip(sums, temperatures, strict=True):
            found = torch.div(values, temperature, out=exponent).exp_().sum(dim=1)
            total[rows] = total[rows] * torch.exp(before / temperature) + found
        self._best[rows] = best

    def probabilities(self) -> Tensor:
        """Return the probability of the top answer at each temperature or 0. (temperatures, queries)"""
        assert self._sums is not None
        return torch.where(self._best > UNREACHED, 1 / self._sums, 0.0)

    def confidence(self, answers: Tensor) -> Confidence:
        """Return the probability of the top answers at the first temperature, and whether they are the true ones."""
        probability = self.probabilities()[0]
        return Confidence(probability, (self._entity == answers) & (probability > 0))
