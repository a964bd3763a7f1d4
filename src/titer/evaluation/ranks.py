"""From scores to ranks."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.evaluation.protocol import Ties, Unreachable


@dataclass(frozen=True)
class Ranks:
    """Where the true answers stand, kept so that every tie rule can be read off afterwards."""

    better: Tensor  # (queries,) candidates with a higher score
    equal: Tensor  # (queries,) other candidates with the same score
    reached: Tensor  # (queries,) whether the model said anything about the answer
    num_entities: int

    def under(self, ties: Ties = Ties.REALISTIC, unreachable: Unreachable = Unreachable.TIED) -> Tensor:
        """Ranks from 1, as float64, under a tie rule and a rule for unreachable answers. (queries,)"""
        best = self.better.double() + 1
        rank = {
            Ties.OPTIMISTIC: best,
            Ties.REALISTIC: best + self.equal / 2,
            Ties.PESSIMISTIC: best + self.equal,
        }[ties]
        if unreachable is Unreachable.LAST:
            rank = torch.where(self.reached, rank, float(self.num_entities))
        return rank

    @classmethod
    def empty(cls, num_queries: int, num_entities: int) -> "Ranks":
        """Places for the ranks of so many questions, to be filled by ``put``."""
        better, equal = (torch.zeros(num_queries, dtype=torch.int64) for _ in range(2))
        return cls(better, equal, torch.zeros(num_queries, dtype=torch.bool), num_entities)

    def put(self, rows: Tensor, part: "Ranks") -> None:
        """Fill in the ranks of one batch."""
        for name in ("better", "equal", "reached"):
            getattr(self, name)[rows] = getattr(part, name).cpu()


def rank_answers(scores: Tensor, answers: Tensor, filtered: tuple[Tensor, Tensor]) -> Ranks:
    """Rank each row's answer among all entities.

    ``filtered`` are pairs (row, entity), each at most once, that do not compete; the answer itself may be
    among them and competes all the same.
    """
    true = scores.gather(1, answers[:, None])  # (queries, 1)
    better = (scores > true).sum(dim=1)
    equal = (scores == true).sum(dim=1) - 1
    # Instead of blanking out filtered entries in the whole matrix, take their votes back one by one.
    row, entity = filtered
    others = entity != answers[row]
    row, entity = row[others], entity[others]
    rivals, theirs = scores[row, entity], true[row, 0]
    better.index_add_(0, row, -(rivals > theirs).to(better.dtype))
    equal.index_add_(0, row, -(rivals == theirs).to(equal.dtype))
    return Ranks(better, equal, true[:, 0] > float("-inf"), scores.shape[1])
