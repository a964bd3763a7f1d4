"""Ranks of true answers by score."""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.evaluation.protocol import Ties, Unreachable
from titer.models.common.row_pieces import row_pieces
from titer.models.scores import UNREACHED, DenseScores, ScoreBlock, Scores

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


def rank_answers(scores: Tensor | Scores, answers: Tensor, filtered: tuple[Tensor, Tensor]) -> Ranks:
    """Rank each row's answer among all entities.

    Args:
        scores: The scores of all entities, or a tensor of shape (queries, num_entities).
        answers: The true answers. Shape (queries,).
        filtered: Pairs (row, entity), each at most once, that are removed from the ranking. The answer itself may be
            among them; it is ranked nevertheless.

    Returns:
        The ranks of the answers.
    """
    scores = scores if isinstance(scores, Scores) else DenseScores(scores)
    ranking = Ranking(scores, answers, filtered)
    for block in scores.blocks():
        ranking.add(block)
    return ranking.ranks()


class Ranking:
    """Counts the candidates that are better than the true answers, block by block."""

    def __init__(self, scores: Scores, answers: Tensor, filtered: tuple[Tensor, Tensor]):
        """Look up the scores of the answers and of the filtered entities.

        Args:
            scores: The scores whose blocks will be added.
            answers: The true answers. Shape (queries,).
            filtered: As for ``rank_answers``.
        """
        row, entity = filtered
        others = (entity != answers.index_select(0, row)).nonzero()[:, 0]
        row, entity = row.index_select(0, others), entity.index_select(0, others)
        rows = torch.arange(len(answers), device=answers.device)
        found = scores.at(torch.cat([rows, row]), torch.cat([answers, entity]))
        self._true, removed = found[: len(answers)], found[len(answers) :]
        theirs = self._true.index_select(0, row)
        # Subtracting the filtered entries one by one is faster than masking them in all blocks.
        self._better, self._equal = (torch.zeros(len(answers), device=found.device) for _ in range(2))
        self._better.index_add_(0, row, (removed > theirs).float(), alpha=-1)
        self._equal.index_add_(0, row, (removed == theirs).float(), alpha=-1)
        self._num_entities = scores.num_entities

    def add(self, block: ScoreBlock) -> None:
        """Count the candidates of a block.

        Args:
            block: A block of the scores.
        """
        # Written as numbers: masks of booleans take several times as long on a CPU.
        for rows in row_pieces(block.values):
            values, true = block.values[rows], self._true[rows, None]
            mark = torch.gt(values, true, out=torch.empty(values.shape, device=values.device))
            self._better[rows] += mark.sum(dim=1)
            self._equal[rows] += torch.eq(values, true, out=mark).sum(dim=1)

    def ranks(self) -> Ranks:
        """Return the ranks after all blocks have been added."""
        # The answer is equal to itself.
        return Ranks(self._better.long(), self._equal.long() - 1, self._true > UNREACHED, self._num_entities)
