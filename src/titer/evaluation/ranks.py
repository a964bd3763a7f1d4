"""Ranks of true answers by score."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.evaluation.protocol import Ties, Unreachable
from titer.models.base import UNREACHED

MISSED_RANK = 1e9


@dataclass(frozen=True)
class Ranks:
    """The places of the true answers, from which the ranks under every tie rule can be computed.

    Attributes:
        better: The number of candidates with a higher score. Shape (queries,).
        equal: The number of other candidates with the same score. Shape (queries,).
        reached: Whether the model scores the answer. Shape (queries,).
        num_entities: The number of entities, which is the last possible rank.
    """

    better: Tensor
    equal: Tensor
    reached: Tensor
    num_entities: int

    def under(self, ties: Ties = Ties.REALISTIC, unreachable: Unreachable = Unreachable.TIED) -> Tensor:
        """Return the ranks under a tie rule and a rule for unreachable answers.

        Args:
            ties: The rank among candidates with equal scores.
            unreachable: The rank of answers that the model does not score.

        Returns:
            Ranks from 1 as float64. Shape (queries,).
        """
        best = self.better.double() + 1
        rank = {
            Ties.OPTIMISTIC: best,
            Ties.REALISTIC: best + self.equal / 2,
            Ties.PESSIMISTIC: best + self.equal,
        }[ties]
        if unreachable is Unreachable.LAST:
            rank = torch.where(self.reached, rank, float(self.num_entities))
        if unreachable is Unreachable.MISSED:
            rank = torch.where(self.reached, rank, MISSED_RANK)
        return rank

    @classmethod
    def empty(cls, num_queries: int, num_entities: int) -> "Ranks":
        """Allocate the ranks of a number of queries, to be filled by ``put``.

        Args:
            num_queries: The number of queries.
            num_entities: The number of entities.

        Returns:
            Ranks without any better or equal candidate.
        """
        better, equal = (torch.zeros(num_queries, dtype=torch.int64) for _ in range(2))
        return cls(better, equal, torch.zeros(num_queries, dtype=torch.bool), num_entities)

    def put(self, rows: Tensor, part: "Ranks") -> None:
        """Store the ranks of one batch in the given rows.

        Args:
            rows: The rows of the batch. Shape (batch,).
            part: The ranks of the batch.
        """
        for name in ("better", "equal", "reached"):
            getattr(self, name)[rows] = getattr(part, name).cpu()


def rank_answers(scores: Tensor, answers: Tensor, filtered: tuple[Tensor, Tensor]) -> Ranks:
    """Rank each row's answer among all entities.

    Args:
        scores: A score for every entity. Shape (queries, num_entities).
        answers: The true answers. Shape (queries,).
        filtered: Pairs (row, entity), each at most once, that are removed from the ranking. The answer itself may be
            among them; it is ranked nevertheless.

    Returns:
        The ranks of the answers.
    """
    true = scores.gather(1, answers[:, None])  # (queries, 1)
    better = (scores > true).sum(dim=1)
    equal = (scores == true).sum(dim=1) - 1
    # Subtracting the filtered entries one by one is faster than masking them in the whole matrix.
    row, entity = filtered
    others = entity != answers[row]
    row, entity = row[others], entity[others]
    rivals, theirs = scores[row, entity], true[row, 0]
    better.index_add_(0, row, -(rivals > theirs).to(better.dtype))
    equal.index_add_(0, row, -(rivals == theirs).to(equal.dtype))
    return Ranks(better, equal, true[:, 0] > UNREACHED, scores.shape[1])
