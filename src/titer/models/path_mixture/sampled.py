"""The training loss with a sample of the candidates, for vocabularies that are too large for all of them.

The softmax sums over reached answers and true answers exactly. The sum over the other known entities is estimated from
a sample that all queries of a time step in a batch share: each sampled entity counts 1 / (expected number of its
occurrences in the sample), so that the estimate of the sum is unbiased. Entities without a past fact are alike and are
counted exactly.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from titer.models.path_mixture.loss import MIN_LOG_PROBABILITY
from titer.models.path_mixture.query_batch import QueryBatch


@dataclass(frozen=True)
class Sample:
    """Known entities, drawn with replacement; or all of them, once each."""

    entity: Tensor  # (sample,)
    log_count: Tensor  # (sample,) log of the number of entities that each counts for

    @classmethod
    def draw(cls, batch: QueryBatch, size: int) -> "Sample":
        """Draw half of the entities uniformly and half by the number of their past facts.

        Frequent entities have most of the prior's weight, so a uniform sample alone would estimate it badly. If no more
        than ``size`` entities are known, the sample is all of them, and the estimate is exact.
        """
        index, elapsed = batch.pair_index, batch.elapsed
        num_known, device = index.num_known(elapsed), batch.subject.device
        if num_known <= size:
            return cls(index.by_first[:num_known], torch.zeros(num_known, device=device))
        uniform = index.by_first.index_select(0, torch.randint(num_known, (size - size // 2,), device=device))
        objects, num_facts = index.objects_before(elapsed)
        frequent = objects.index_select(0, torch.randint(num_facts, (size // 2,), device=device))
        entity = torch.cat([uniform, frequent])
        event, _ = index.activity.last(entity, elapsed)
        number = index.activity.number.index_select(0, event)
        expected = (size - size // 2) / num_known + (size // 2) * number / num_facts
        return cls(entity, -torch.log(expected))


@dataclass(frozen=True)
class CandidateLogits:
    """The logits of the candidates of a batch."""

    row: Tensor  # (pairs,) the query of each listed pair
    pairs: Tensor  # (pairs,) logits of reached and true answers
    excluded: Tensor  # (excluded,) pairs that are other true answers
    answer: Tensor  # (queries,) the pair of the true answer
    sample: Tensor  # (queries, sample) logits of sampled entities
    is_listed: Tensor  # (queries, sample) which of them are among the pairs of the query
    log_count: Tensor  # (sample,)
    rest: Tensor  # (queries,) the logit of each entity without a past fact
    num_rest: Tensor  # (queries,) float: how many of those are not among the pairs
    num_entities: int


def sampled_cross_entropy(found: CandidateLogits, smoothing: float) -> Tensor:
    """Return an estimate of the cross-entropy of each query, as ``cross_entropy`` defines it. (queries,)"""
    pairs = found.pairs.index_fill(0, found.excluded, -torch.inf)
    log_count = torch.where(found.is_listed, -torch.inf, found.log_count)
    others = torch.cat([found.sample + log_count, (found.rest + torch.log(found.num_rest))[:, None]], dim=1)
    highest = others.detach().amax(dim=1).scatter_reduce(0, found.row, pairs.detach(), "amax")
    total = torch.exp(others - highest[:, None]).sum(dim=1)
    total = total.index_add(0, found.row, torch.exp(pairs - highest.index_select(0, found.row)))
    normaliser = highest + torch.log(total)

    of_answer = pairs.index_select(0, found.answer) - normaliser
    of_pairs = (pairs - normaliser.index_select(0, found.row)).clamp(min=MIN_LOG_PROBABILITY)
    of_sample = (found.sample - normaliser[:, None]).clamp(min=MIN_LOG_PROBABILITY)
    of_rest = (found.rest - normaliser).clamp(min=MIN_LOG_PROBABILITY)
    sums = (of_sample * torch.exp(log_count)).sum(dim=1) + found.num_rest * of_rest
    sums = sums.index_add(0, found.row, of_pairs)
    return -(1 - smoothing) * of_answer - smoothing / found.num_entities * sums


def is_listed(sample: Tensor, num_queries: int, row: Tensor, answer: Tensor, num_entities: int) -> Tensor:
    """Return which sampled entities are among the listed pairs of each query. (queries, sample)"""
    distinct, place = torch.unique(sample, return_inverse=True)
    column = torch.full((num_entities,), len(distinct), device=sample.device)
    column[distinct] = torch.arange(len(distinct), device=sample.device)
    listed = torch.zeros(num_queries, len(distinct) + 1, dtype=torch.bool, device=sample.device)
    listed.view(-1).index_fill_(0, row * (len(distinct) + 1) + column.index_select(0, answer), True)
    return listed.index_select(1, place)
