"""Plans of several batches that are looked up together.

Look-ups on a GPU take as long for thousands of queries as for hundreds, because their cost is that of the calls.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from titer.graph.history import History
from titer.models.common.plan import split
from titer.models.path_mixture.bags import Bags
from titer.models.path_mixture.mixture import MixturePlan, ScoringPlan
from titer.models.path_mixture.prior_plans import FrequencyPlan, QueryPlan
from titer.models.path_mixture.query_batch import Groups, QueryBatch
from titer.models.path_mixture.training_plan import TrainingPlan


def grouped(
    subject: Tensor, relation: Tensor, sizes: Sequence[int], times: Sequence[int], history: History
) -> QueryBatch:
    """Return the queries of several batches, which follow each other, as one; each batch is of one time step."""
    if len(sizes) == 1:
        return QueryBatch(subject, relation, times[0], history)
    device, index = subject.device, history.pair_index
    elapsed = [max(time - history.first_time, 0) for time in times]
    lengths, time, since = torch.tensor([list(sizes), list(times), elapsed], device=device)
    of_query = torch.repeat_interleave(lengths, output_size=len(subject))
    groups = Groups(of_query, time, since, [index.num_known(each) for each in elapsed])
    return QueryBatch(subject, relation, times[0], history, groups)


def split_training(plan: TrainingPlan, batch: QueryBatch) -> list[TrainingPlan]:
    """Return the plan of each batch."""
    if batch.groups is None:
        return [plan]
    mixture = plan.mixture
    found = {**_of_reach(mixture, batch), **_of_frequency(mixture.prior.frequency, batch)}
    found["excluded"] = batch.group_of_row(plan.targets.excluded_row)
    known = functional.pad(torch.tensor(batch.groups.num_known), (1, 0)).cumsum(0).to(batch.subject.device)
    bounds, entities = _bounds(found, batch, mixture.prior.query), mixture.prior.entities
    bounds["known"] = known
    if entities.names is not None:
        bounds["name_terms"] = _of_terms(entities.names, known)
    if entities.edges is not None:
        bounds["edge_terms"] = _of_terms(entities.edges, known)
    return split(plan, _listed(bounds))


def split_scoring(plan: ScoringPlan, batch: QueryBatch) -> list[ScoringPlan]:
    """Return the plan of each batch."""
    if batch.groups is None:
        return [plan]
    found = _of_reach(plan, batch)
    found["relations"] = batch.group_of_relation(batch.relations.values)
    return split(plan, _listed(_bounds(found, batch, plan.query)))


def _of_reach(plan: MixturePlan | ScoringPlan, batch: QueryBatch) -> dict[str, Tensor]:
    return plan.reach.groups(batch)


def _of_frequency(plan: FrequencyPlan, batch: QueryBatch) -> dict[str, Tensor]:
    relations = batch.group_of_relation(batch.relations.values)
    return {"relations": relations, "answers": relations.index_select(0, plan.row)}


def _bounds(found: dict[str, Tensor], batch: QueryBatch, query: QueryPlan) -> dict[str, Tensor]:
    """Return the first row of each group in every dimension, and the number of rows. (groups + 1,) each"""
    assert batch.groups is not None
    found["queries"] = batch.groups.of_query
    number = torch.arange(len(batch.groups) + 1, device=batch.subject.device)
    bounds = {dim: torch.searchsorted(group, number) for dim, group in found.items()}
    if query.names is not None:
        bounds["subject_terms"] = _of_terms(query.names, bounds["queries"])
    return bounds


def _of_terms(bags: Bags, bounds: Tensor) -> Tensor:
    """Return the bounds of the terms of bags, given those of the bags."""
    return functional.pad(torch.cumsum(bags.length, 0), (1, 0)).index_select(0, bounds)


def _listed(bounds: dict[str, Tensor]) -> dict[str, list[int]]:
    """Return all bounds as numbers, with one wait for the GPU."""
    return dict(zip(bounds, torch.stack(list(bounds.values())).tolist(), strict=True))
