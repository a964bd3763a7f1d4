"""Whether a model that is 70 % sure of its answers is right about 70 of 100."""

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

NUM_BINS = 15


@dataclass(frozen=True)
class Bin:
    """Questions about whose top answers a model was about equally sure."""

    queries: int
    confidence: float
    """How sure it was, on average."""
    accuracy: float
    """The share of them that it got right."""


@dataclass(frozen=True)
class Confidence:
    """How sure a model was of its top answers, and whether they were right; other true answers were set aside."""

    probability: Tensor  # (queries,) of the top answer
    correct: Tensor  # (queries,) whether that is the one asked for

    @classmethod
    def empty(cls, num_queries: int) -> "Confidence":
        """Places for so many questions, to be filled by ``put``."""
        return cls(torch.zeros(num_queries), torch.zeros(num_queries, dtype=torch.bool))

    def put(self, rows: Tensor, part: "Confidence") -> None:
        """Fill in the questions of one batch."""
        self.probability[rows] = part.probability.cpu()
        self.correct[rows] = part.correct.cpu()

    def bins(self) -> list[Bin]:
        """The reliability table: questions by how sure the model was, in equal steps; without empty ones."""
        place = (self.probability.double() * NUM_BINS).long().clamp(max=NUM_BINS - 1)
        groups = [place == number for number in range(NUM_BINS)]
        return [
            Bin(
                int(group.sum()),
                float(self.probability[group].double().mean()),
                float(self.correct[group].double().mean()),
            )
            for group in groups
            if bool(group.any())
        ]

    def expected_calibration_error(self) -> float:
        """The mean difference between how sure the model was and how often it was right, bin by bin."""
        bins = self.bins()
        return sum(b.queries * abs(b.confidence - b.accuracy) for b in bins) / sum(b.queries for b in bins)

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        error = self.expected_calibration_error()
        return {"expected_calibration_error": error, "bins": [asdict(b) for b in self.bins()]}


def set_aside(logits: Tensor, others: tuple[Tensor, Tensor]) -> Tensor:
    """The logits without those of other true answers, pairs (row, entity).

    As in the ranking: who foretells one of several true answers has not foretold the others badly.
    """
    return logits.index_put(others, logits.new_tensor(-torch.inf))


def judge(logits: Tensor, answers: Tensor, temperature: float) -> Confidence:
    """How sure a model is of its top answers, and whether they are those that were asked for."""
    probability = top_probability(logits, temperature)
    return Confidence(probability, (logits.argmax(dim=1) == answers) & (probability > 0))


def top_probability(logits: Tensor, temperature: float) -> Tensor:
    """The largest entry of softmax(logits / temperature); 0 where nothing is known. (queries,)"""
    known = logits.amax(dim=1) > -torch.inf
    return torch.where(known, torch.softmax(logits / temperature, dim=1).amax(dim=1), 0.0)
