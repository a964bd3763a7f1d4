"""The training loss, and the matrix of priors that it reads, without temporaries of the size of the matrix.

The matrix has a row for each query and a column for each candidate. All entities without a past fact have the same
prior, so they share the last column. Each function overwrites the matrix it is given: nothing else reads it, and one
matrix is enough for the priors, the probabilities and the gradients.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from titer.models.common.row_pieces import row_pieces

MIN_LOG_PROBABILITY = -30.0


def prior_matrix(
    frequency: Tensor, relation: Tensor, query: Tensor, answer: Tensor, at: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the prior of every candidate, and the priors of some of them.

    Args:
        frequency: The part of the prior that depends on relation and candidate. Shape ``(relations, columns)``.
        relation: The row of ``frequency`` for each query. Shape ``(queries,)``.
        query: A vector for each query. Shape ``(queries, dim)``.
        answer: A vector for each candidate. Shape ``(columns, dim)``.
        at: Positions in the flattened matrix, each at most once. Shape ``(pairs,)``.

    Returns:
        The matrix, of shape ``(queries, columns)``, and its values at the positions, of shape ``(pairs,)``.
    """
    return _PriorMatrix.apply(frequency, relation, query, answer, at)


class _PriorMatrix(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, frequency: Tensor, relation: Tensor, query: Tensor, answer: Tensor, at: Tensor
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(relation, query, answer, at)
        ctx.num_relations = len(frequency)
        matrix = frequency.index_select(0, relation).addmm_(query, answer.T)
        return matrix, matrix.view(-1).index_select(0, at)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        relation, query, answer, at = ctx.saved_tensors
        matrix, of_pairs = gradients
        matrix.view(-1).index_add_(0, at, of_pairs)
        return _by_relation(matrix, relation, ctx.num_relations), None, matrix @ answer, matrix.T @ query, None


def _by_relation(matrix: Tensor, relation: Tensor, num_relations: int) -> Tensor:
    """Return the sums of the rows of each relation. (num_relations, columns)"""
    if matrix.is_cuda:
        # On a GPU, a product is faster than sums for which many rows wait for the same memory.
        chosen = torch.arange(num_relations, device=relation.device)[:, None] == relation
        return chosen.to(matrix.dtype) @ matrix
    return matrix.new_zeros(num_relations, matrix.shape[1]).index_add_(0, relation, matrix)


@dataclass(frozen=True)
class Targets:
    """What the loss compares the probabilities with."""

    answer: Tensor  # (queries,) the column of the true answer
    excluded: Tensor  # (excluded,) positions in the matrix of other true answers
    num_rest: Tensor  # (queries,) float: entities that the last column counts for, without other true answers
    num_excluded_rest: Tensor  # (queries,) float: other true answers in the last column
    num_hidden: Tensor  # () float: columns that are no entities; their priors are -inf
    num_entities: int
    smoothing: float


def cross_entropy(matrix: Tensor, at: Tensor, along: Tensor, targets: Targets) -> Tensor:
    """Return the cross-entropy of each query, with smoothed labels and without other true answers. (queries,)

    Args:
        matrix: The priors, logarithms; overwritten. Shape ``(queries, columns)``.
        at: Positions in the flattened matrix of the answers that paths lead to. Shape ``(pairs,)``.
        along: The logarithm of the weight along paths to each of these; -inf without paths. Shape ``(pairs,)``.
        targets: The true answers.
    """
    return _CrossEntropy.apply(matrix, along, at, targets)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, along: Tensor, at: Tensor, targets: Targets) -> Tensor:
        matrix = matrix.detach()
        prior = matrix.view(-1).index_select(0, at)
        both = torch.logaddexp(prior, along)
        matrix.view(-1).index_copy_(0, at, both)
        matrix.view(-1).index_fill_(0, targets.excluded, -torch.inf)
        log_rest = torch.log(targets.num_rest)
        matrix[:, -1] += log_rest

        sums, kept = torch.empty_like(log_rest), torch.empty_like(log_rest)
        for rows in row_pieces(matrix):
            part = matrix[rows]
            part -= torch.logsumexp(part, dim=1, keepdim=True)
            sums[rows] = part[:, :-1].clamp(min=MIN_LOG_PROBABILITY).sum(dim=1)
            kept[rows] = (part[:, :-1] > MIN_LOG_PROBABILITY).sum(dim=1).to(kept.dtype)
        # The last column has the logarithm of the sum of the probabilities of its entities.
        of_rest = torch.where(targets.num_rest > 0, matrix[:, -1] - log_rest, -torch.inf)
        sums += targets.num_rest * of_rest.clamp(min=MIN_LOG_PROBABILITY)
        sums += (targets.num_excluded_rest - targets.num_hidden) * MIN_LOG_PROBABILITY
        kept += targets.num_rest * (of_rest > MIN_LOG_PROBABILITY)
        in_rest = targets.answer == matrix.shape[1] - 1
        of_answer = matrix.gather(1, targets.answer[:, None])[:, 0]
        of_answer = torch.where(in_rest, of_rest, of_answer)

        smoothing, share = targets.smoothing, targets.smoothing / targets.num_entities
        ctx.matrix, ctx.targets = matrix, targets
        ctx.rest = share * targets.num_rest * (of_rest > MIN_LOG_PROBABILITY)
        ctx.factor, ctx.share = (1 - smoothing) + share * kept, share
        ctx.save_for_backward(at, torch.exp(prior - both), torch.exp(along - both))
        return -(1 - smoothing) * of_answer - share * sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient = gradients[0].contiguous()
        at, share_of_prior, share_along = ctx.saved_tensors
        matrix, targets = ctx.matrix, ctx.targets
        factor, smoothed = (gradient * ctx.factor)[:, None], (gradient * ctx.share)[:, None]
        rest = matrix[:, -1].exp() * factor[:, 0] - gradient * ctx.rest
        for rows in row_pieces(matrix):
            part = matrix[rows]
            kept = (part > MIN_LOG_PROBABILITY) * smoothed[rows]
            part.exp_().mul_(factor[rows]).sub_(kept)
        matrix[:, -1] = rest
        matrix.scatter_add_(1, targets.answer[:, None], -(1 - targets.smoothing) * gradient[:, None])
        of_pairs = matrix.view(-1).index_select(0, at)
        matrix.view(-1).index_copy_(0, at, of_pairs * share_of_prior)
        return matrix, of_pairs * share_along, None, None
