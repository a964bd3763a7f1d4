"""The weights of the answers at several time steps, computed together.

On a GPU, the calls take longer than what they compute. Entities have a row for each time step at which they are known;
the rows of a time step follow those of the one before it. Only the matrices of candidates are computed one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from titer.models.path_mixture.bags import Bags
from titer.models.path_mixture.mixture import Mixture, MixturePlan, Weights
from titer.models.path_mixture.prior import MAX_WHOLE
from titer.models.path_mixture.query_batch import QueryBatch

MAX_CANDIDATES = 1 << 27
"""Candidates of all queries of a batch together up to which their matrices are computed at once."""


def can_be_joined(batch: QueryBatch, sizes: Sequence[int]) -> bool:
    """Return whether the weights of a batch of several time steps should be computed together.

    Args:
        batch: The queries.
        sizes: The number of queries of each time step.
    """
    if batch.groups is None or not batch.subject.is_cuda:
        return False
    known = batch.groups.num_known
    num_candidates = sum(size * (count + 1) for size, count in zip(sizes, known, strict=True))
    return max(known) < MAX_WHOLE and num_candidates <= MAX_CANDIDATES


@dataclass(frozen=True)
class Bounds:
    """The first position of each time step in every dimension, and the number of positions."""

    queries: list[int]
    relations: list[int]
    known: list[int]
    reached: list[int]
    matrix: list[int]  # of the candidates of all queries
    frequency: list[int]  # of the candidates of all relations


@dataclass(frozen=True)
class JoinedPlan:
    """What the weights of several time steps are computed from, apart from the parameters."""

    mixture: MixturePlan  # rows of entities are counted over all time steps
    bounds: Bounds
    column: Tensor  # (reached,) the candidate of each reached answer, counted within its time step
    at: Tensor  # (reached,) its position among the candidates of all queries
    frequency_at: Tensor  # (reached,) its position among the candidates of all relations
    answer_at: Tensor  # (answers,) the position of each answer of the frequency plan among them

    @classmethod
    def of(cls, mixture: Mixture, batch: QueryBatch, trained: Tensor) -> "JoinedPlan":
        """Look up what the weights of a batch of several time steps are computed from."""
        groups = batch.groups
        assert groups is not None
        plan, device = mixture.plan(batch, trained), batch.subject.device
        num_known = torch.tensor(groups.num_known, device=device)
        first_row = num_known.cumsum(0) - num_known
        query, reach, frequency = plan.prior.query, plan.reach, plan.prior.frequency
        of_query, of_relation = groups.of_query, batch.group_of_relation(batch.relations.values)
        of_reached = of_query.index_select(0, reach.row)

        def starts(group: Tensor) -> Tensor:
            """Return the position of the first candidate of some rows, whose groups ascend, and of a next row."""
            return functional.pad((num_known + 1).index_select(0, group).cumsum(0), (1, 0))

        of_matrix, of_frequency = starts(of_query), starts(of_relation)
        # Entities without a past fact share the last candidate of their time step.
        column = torch.minimum(plan.column, num_known.index_select(0, of_reached))
        relation = query.place.index_select(0, reach.row)
        number = torch.arange(len(groups) + 1, device=device)
        ends = [torch.searchsorted(group, number) for group in (of_query, of_relation, of_reached)]
        matrix_ends, frequency_ends = of_matrix.index_select(0, ends[0]), of_frequency.index_select(0, ends[1])
        known = functional.pad(num_known.cumsum(0), (1, 0))
        listed = torch.stack([*ends[:2], known, ends[2], matrix_ends, frequency_ends]).tolist()
        # The row of entities without a past fact, which is limited to the last one, stays beyond it.
        shifted = replace(
            plan,
            prior=replace(
                plan.prior,
                entities=replace(plan.prior.entities, edges=_shifted_edges(plan, first_row, num_known)),
                frequency=replace(
                    frequency,
                    column=frequency.column + first_row.index_select(0, of_relation.index_select(0, frequency.row)),
                ),
                query=replace(query, subject=query.subject + first_row.index_select(0, of_query)),
            ),
            column=plan.column + first_row.index_select(0, of_reached),
        )
        return cls(
            mixture=shifted,
            bounds=Bounds(*listed),
            column=column,
            at=of_matrix.index_select(0, reach.row) + column,
            frequency_at=of_frequency.index_select(0, relation) + column,
            answer_at=of_frequency.index_select(0, frequency.row) + frequency.column,
        )


def joined_weights(mixture: Mixture, plan: JoinedPlan) -> list[Weights]:
    """Return the weights of the answers at each time step, outside of training."""
    prior, bounds, reach = plan.mixture.prior, plan.bounds, plan.mixture.reach
    parts = mixture.prior.parts_of(prior)
    entities = parts.entities
    frequency = _frequency(mixture, plan, entities.activity)
    matrix = frequency.new_empty(bounds.matrix[-1])
    for number, each in enumerate(_ranges(bounds)):
        width = each.known.stop - each.known.start + 1
        of_relations = frequency[each.frequency].view(-1, width)
        block = matrix[each.matrix].view(-1, width)
        relation = prior.query.place[each.queries] - bounds.relations[number]
        torch.index_select(of_relations, 0, relation, out=block)
        answers = torch.cat([entities.as_answer[each.known], entities.as_answer[-1:]])
        block.addmm_(parts.query[each.queries], answers.T)
    of_prior, of_frequency = matrix.index_select(0, plan.at), frequency.index_select(0, plan.frequency_at)
    column = plan.mixture.column.clamp(max=entities.num_known)
    found = mixture.reach(prior.query, reach)
    along = mixture.along(parts, found, column, of_prior, of_frequency)
    weights: list[Weights] = []
    for each in _ranges(bounds):
        rows, known = each.reached, each.known
        # Scores read only the number of candidates of these; their tables are those of all time steps.
        own = replace(entities, num_known=known.stop - known.start)
        weights.append(
            Weights(
                replace(parts, entities=own),
                matrix[each.matrix].view(-1, own.num_known + 1),
                of_prior[rows],
                reach.row[rows] - each.queries.start,
                plan.column[rows],
                plan.at[rows] - each.matrix.start,
                found.total[rows],
                along[rows],
                found.longer,
            )
        )
    return weights


@dataclass(frozen=True)
class _Range:
    """The positions of one time step in every dimension."""

    queries: slice
    relations: slice
    known: slice
    reached: slice
    matrix: slice
    frequency: slice


def _ranges(bounds: Bounds) -> list[_Range]:
    columns = (bounds.queries, bounds.relations, bounds.known, bounds.reached, bounds.matrix, bounds.frequency)
    return [_Range(*each) for each in zip(*map(_slices, columns), strict=True)]


def _slices(bounds: list[int]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(bounds)]


def _frequency(mixture: Mixture, plan: JoinedPlan, activity: Tensor) -> Tensor:
    """Return the frequency term of the candidates of all relations, one time step after another."""
    module, found = mixture.prior.frequency, plan.mixture.prior.frequency
    of_activity = module.activity(activity)
    frequency = activity.new_empty(plan.bounds.frequency[-1])
    for each in _ranges(plan.bounds):
        candidates = torch.cat([of_activity[each.known], of_activity[-1:]])
        usual = module.usual(found.relation[each.relations], candidates)
        frequency[each.frequency] = usual.view(-1)
    instead = module.instead(found.relation, activity, found.row, found.column, found.features)
    return frequency.index_add_(0, plan.answer_at, instead)


def _shifted_edges(plan: MixturePlan, first_row: Tensor, num_known: Tensor) -> Bags | None:
    """Return the latest edges of all entities, with neighbours counted over all time steps."""
    edges = plan.prior.entities.edges
    if edges is None:
        return None
    num_edges = edges.length // 2  # an edge has two terms: its neighbour and its relation
    first_row = first_row.repeat_interleave(num_known, output_size=len(num_edges))
    first_row = first_row.repeat_interleave(num_edges, output_size=len(edges.index) // 2)
    neighbour, relation = edges.index.view(-1, 2).unbind(1)
    return replace(edges, index=torch.stack([neighbour + first_row, relation], dim=1).view(-1))
