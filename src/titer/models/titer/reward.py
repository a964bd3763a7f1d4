"""The time-shaped reward: one Dirichlet distribution per relation (section 3.2 and appendix A.5 of the paper)."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Gamma

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.queries import Queries
from titer.graph.ragged import spread

CHUNK = 1 << 23
TOLERANCE = 1e-3
MIN_ALPHA = 1e-9
SHRINK_EVERY = 5
COUNT_BITS = 20


@dataclass(frozen=True)
class Tally:
    """Distinct integer keys, and how often each occurs."""

    key: Tensor  # (distinct,) sorted
    times: Tensor  # (distinct,)

    @classmethod
    def of(cls, *parts: "Tally") -> "Tally":
        """Return the sum of tallies."""
        key, place = torch.unique(torch.cat([part.key for part in parts]), return_inverse=True)
        times = torch.zeros(len(key), dtype=torch.int64)
        return cls(key, times.index_add_(0, place, torch.cat([part.times for part in parts])))


@dataclass(frozen=True)
class SnapshotCounts:
    """How often answers occur in each of the K snapshots before their query: the samples D of every relation.

    A sample x_i enters the likelihood only through its counts n_ik and its total n_i. It is therefore enough to know
    how many samples of a relation have n_ik = c, for every k and c, and how many have n_i = n.
    """

    num_relations: int
    num_snapshots: int
    counts: Tally  # of (relation, lag k, count c), c > 0
    totals: Tally  # of (relation, total n), n > 0

    @classmethod
    def of(cls, facts: Facts, vocabulary: Vocabulary, num_snapshots: int) -> "SnapshotCounts":
        """Count, for both queries of every fact, how often the answer occurs in each of the K snapshots before it."""
        key, activity, first_time = _activity(facts)
        queries, answers = Queries.from_facts(facts, vocabulary)
        elapsed = queries.time - first_time
        start = torch.searchsorted(key, (answers << 32) + (elapsed - num_snapshots).clamp(min=0))
        end = torch.searchsorted(key, (answers << 32) + elapsed)
        empty = Tally(torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
        counts, totals = empty, empty
        longest = max(int((end - start).max()), 1) if len(queries) else 1
        for rows in torch.arange(len(queries)).split(max(CHUNK // longest, 1)):
            row, position = spread(start[rows], end[rows])
            lag = elapsed[rows][row] - (key[position] & 0xFFFFFFFF)  # 1 … K
            place = queries.relation[rows][row] * num_snapshots + lag - 1
            counts = Tally.of(counts, _tally((place << COUNT_BITS) + activity[position]))
            total = torch.zeros(len(rows), dtype=torch.int64).index_add_(0, row, activity[position])
            seen = total > 0
            totals = Tally.of(totals, _tally((queries.relation[rows][seen] << 32) + total[seen]))
        return cls(vocabulary.num_directed_relations, num_snapshots, counts, totals)


def _tally(keys: Tensor) -> Tally:
    return Tally(*torch.unique(keys, return_counts=True))


def _activity(facts: Facts) -> tuple[Tensor, Tensor, int]:
    """Return sorted keys (entity, time), the number of facts of the entity at that time, and the first time."""
    first_time = int(facts.time.min()) if len(facts) else 0
    entity = np.concatenate([facts.subject, facts.object]).astype(np.int64)
    time = np.concatenate([facts.time, facts.time]) - first_time
    key, count = np.unique((entity << 32) + time, return_counts=True)
    return torch.from_numpy(key), torch.from_numpy(np.minimum(count, (1 << COUNT_BITS) - 1)), first_time


def estimate_alpha(samples: SnapshotCounts, *, leave_one_out: bool = False, max_iterations: int = 200) -> Tensor:
    r"""Return α of every relation by fixed-point iteration. (relations, K)

    $$
    \alpha_k \leftarrow \alpha_k \frac{\sum_i \Psi(n_{ik} + \alpha_k) - \Psi(\alpha_k)}
    {\sum_i \Psi(n_i + \sum_k \alpha_k) - \Psi(\sum_k \alpha_k)}
    $$

    With ``leave_one_out`` the differences become n_ik / (n_ik - 1 + α_k) and n_i / (n_i - 1 + Σα).
    """
    size = samples.num_relations * samples.num_snapshots
    place, n_ik = samples.counts.key >> COUNT_BITS, (samples.counts.key & ((1 << COUNT_BITS) - 1)).double()
    relation, n_i = samples.totals.key >> 32, (samples.totals.key & 0xFFFFFFFF).double()
    many_ik, many_i = samples.counts.times.double(), samples.totals.times.double()
    alpha = _proportional(place, n_ik * many_ik, samples)
    was_moving = torch.ones(samples.num_relations, dtype=torch.bool)
    for iteration in range(max_iterations):
        alpha_k, whole = alpha.flatten()[place], alpha.sum(dim=1)[relation]
        numerator = torch.zeros(size, dtype=torch.float64)
        numerator.index_add_(0, place, many_ik * _difference(n_ik, alpha_k, leave_one_out))
        denominator = torch.full((samples.num_relations,), 1e-300, dtype=torch.float64)
        denominator.index_add_(0, relation, many_i * _difference(n_i, whole, leave_one_out))
        new = (alpha * numerator.view_as(alpha) / denominator[:, None]).clamp(min=MIN_ALPHA)
        moving = (new - alpha).abs().sum(dim=1) >= TOLERANCE * alpha.sum(dim=1)  # (relations,)
        moving &= was_moving  # a relation that has converged does not change again
        alpha, was_moving = torch.where(moving[:, None], new, alpha), moving
        if not bool(moving.any()):
            break
        if iteration % SHRINK_EVERY == 0:
            still, also = moving[place // samples.num_snapshots], moving[relation]
            place, n_ik, many_ik = place[still], n_ik[still], many_ik[still]
            relation, n_i, many_i = relation[also], n_i[also], many_i[also]
    return alpha.float()


def _difference(n: Tensor, alpha: Tensor, leave_one_out: bool) -> Tensor:
    """Return Ψ(n + α) - Ψ(α), or its counterpart in the leave-one-out likelihood."""
    if leave_one_out:
        return n / (n - 1 + alpha)
    return torch.special.digamma(n + alpha) - torch.special.digamma(alpha)


def _proportional(place: Tensor, weight: Tensor, samples: SnapshotCounts) -> Tensor:
    """Return the initial α: proportional to the counts, with the sum K / 10."""
    sums = torch.full((samples.num_relations * samples.num_snapshots,), 1e-6, dtype=torch.float64)
    sums = sums.index_add_(0, place, weight).view(samples.num_relations, samples.num_snapshots)
    return sums / sums.sum(dim=1, keepdim=True) * samples.num_snapshots / 10


def sample_beta(a: Tensor, b: Tensor) -> Tensor:
    """Return one sample of Beta(a, b) for every pair: the distribution of one component of a Dirichlet sample.

    The logarithms of two Gamma samples are compared, as the samples themselves underflow for small a and b. If X is a
    sample of Gamma(a + 1) and u of the uniform distribution, then X · u^(1/a) is one of Gamma(a).
    """
    shape = torch.stack([a, b])
    uniform = 1 - torch.rand_like(shape)  # in (0, 1]
    # Both parameters are tensors of the device, as a CUDA graph cannot record the copy of a number to it.
    larger = Gamma(shape + 1, torch.ones_like(shape), validate_args=False).sample()
    log_gamma_a, log_gamma_b = larger.log() + uniform.log() / shape
    return torch.sigmoid(log_gamma_a - log_gamma_b)
