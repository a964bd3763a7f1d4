"""Calibration: whether top answers with a probability of 70 % are right in 70 of 100 cases."""

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from titer.models.base import UNREACHED

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


def mask_others(logits: Tensor, others: tuple[Tensor, Tensor]) -> Tensor:
    """Return the logits with other true answers, given as pairs (row, entity), set to minus infinity.

    As in the ranking, predicting one of several true answers is not penalised for the others.
    """
    return logits.index_put(others, logits.new_tensor(UNREACHED))


def judge(logits: Tensor, answers: Tensor, temperature: float) -> Confidence:
    """Return the probability of each row's top answer, and whether it is the true one."""
    probability = top_probability(logits, temperature)
    return Confidence(probability, (logits.argmax(dim=1) == answers) & (probability > 0))


def top_probability(logits: Tensor, temperature: float) -> Tensor:
    """Return the largest entry of softmax(logits / temperature), or 0 where no entity has a score. (queries,)"""
    known = logits.amax(dim=1) > UNREACHED
    return torch.where(known, torch.softmax(logits / temperature, dim=1).amax(dim=1), 0.0)
