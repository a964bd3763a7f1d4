"""The kinds of paths from a subject to answers, and the weight of a path of each kind."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.decayed_counts import HORIZONS, decay
from titer.graph.pair_index import Series
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.query_batch import Hop, QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding

NUM_KNOTS = 12
KNOTS_PER_DOUBLING = 1.2
MAX_LOG_WEIGHT = 20.0


@dataclass(frozen=True)
class Paths:
    """Paths of one kind, for all queries of a batch."""

    row: Tensor  # (paths,) the query
    hops: tuple[Hop, ...]
    weight: Tensor  # (paths,) positive

    @property
    def answer(self) -> Tensor:
        """The entity at which each path ends. (paths,)"""
        return self.hops[-1].object

    def total(self, num_queries: int, num_entities: int) -> Tensor:
        """Return the total weight of the paths to each answer. (queries * entities,)"""
        sums = torch.zeros(num_queries * num_entities, device=self.weight.device)
        return sums.index_add(0, self.row * num_entities + self.answer, self.weight)


def of_age(heights: Tensor, age: Tensor) -> Tensor:
    """Evaluate functions of log Δt that are linear between knots, given their heights at the knots. (paths,)"""
    place = torch.log2(age.clamp(min=1).float()) * KNOTS_PER_DOUBLING
    left = place.floor().clamp(max=NUM_KNOTS - 2)
    share = (place - left).clamp(max=1)
    left = left.long()[:, None]
    return heights.gather(1, left)[:, 0] * (1 - share) + heights.gather(1, left + 1)[:, 0] * share


class Direct(nn.Module):
    r"""Paths of one hop: all past facts (s, r', o, t') between the subject and the answer, of any age.

    .. math::
        w = e^{W_{r r'} + [r' = r]\,\sigma} \sum_h e^{a_{rh} + b_{r'h} + [r' = r]\,c_h} \, e^{-(\Delta t - 1)/\tau_h}

    The sum over a series (s, r', o, ·) takes one look-up, because decayed counts are stored (see ``DecayedCounts``).
    """

    def __init__(self, num_relations: int):
        super().__init__()
        self.pair = RelationEmbedding(num_relations, num_relations)
        self.same = nn.Parameter(torch.tensor(2.0))
        self.query = RelationEmbedding(num_relations, len(HORIZONS), value=-2.0)
        self.past = RelationEmbedding(num_relations, len(HORIZONS))
        self.same_at = nn.Parameter(torch.zeros(len(HORIZONS)))

    def coefficients(self, query: Tensor, past: Tensor) -> Tensor:
        """Return the weight of each horizon, for pairs of a query's and a past relation. (pairs, horizons)"""
        is_same = (query == past)[:, None]
        pair = self.pair.weight.view(-1).index_select(0, query * self.pair.num_embeddings + past)
        log_weight = pair[:, None] + is_same * self.same
        log_kernel = self.query(query) + self.past(past) + is_same * self.same_at
        return torch.exp(log_weight.clamp(max=10) + log_kernel.clamp(max=10))

    def forward(self, batch: QueryBatch, series: Series, counts: Tensor) -> Tensor:
        """Return the weight of every series: the sum over its facts. (series,)"""
        return (self.coefficients(batch.relation[series.row], series.relation) * counts).sum(dim=1)

    def paths(self, query: Tensor, past: Tensor, age: Tensor, answer: int) -> Paths:
        """Return the facts between one query's subject and an answer as paths of a single hop.

        Args:
            query: Relation of the query. Shape ``(1,)``.
            past: Relations of the facts. Shape ``(facts,)``.
            age: Ages of the facts. Shape ``(facts,)``.
            answer: The answer.
        """
        horizons = torch.tensor(HORIZONS, device=age.device)
        weight = (self.coefficients(query.expand(len(past)), past) * decay(age, horizons)).sum(dim=1)
        hop = Hop(past, torch.full_like(past, answer), age)
        return Paths(torch.zeros_like(past), (hop,), weight)


class TwoHops(nn.Module):
    r"""Paths s → e → o over the latest edges of the subject and of its neighbours, of any relations.

    .. math::
        \log w = \langle u_r, v_{r_1}, x_{r_2} \rangle + f_{r, r_1}(\Delta t_1) + f_{r_2}(\Delta t_2) + \text{biases}
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limits = config.first_edges, config.second_edges
        self.query, self.first, self.second = (
            RelationEmbedding(num_relations, config.rank, deviation=0.3) for _ in range(3)
        )
        self.query_bias, self.first_bias = (RelationEmbedding(num_relations, 1) for _ in range(2))
        self.second_bias = RelationEmbedding(num_relations, 1, value=-3.0)
        self.query_age, self.first_age, self.second_age = (
            RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3)
        )

    def forward(self, batch: QueryBatch) -> Paths:
        """Return all such paths."""
        row, first = batch.first_hops(self.limits[0])
        relation = batch.relation[row]
        factor = self.query(relation) * self.first(first.relation)
        log_weight = self.query_bias(relation)[:, 0] + self.first_bias(first.relation)[:, 0]
        log_weight = log_weight + of_age(self.query_age(relation) + self.first_age(first.relation), first.age)

        before, second = batch.hops_from(first.object, self.limits[1])
        onward = _positions(second.object != batch.subject[row][before])  # do not return to the subject
        before, second = before[onward], second[onward]
        interaction = factor.index_select(0, before) * self.second(second.relation)
        log_weight = log_weight.index_select(0, before) + interaction.sum(dim=1)
        log_weight = log_weight + self.second_bias(second.relation)[:, 0]
        log_weight = log_weight + of_age(self.second_age(second.relation), second.age)
        return Paths(row[before], (first[before], second), _weight(log_weight))


class TwoHopsSame(nn.Module):
    r"""Paths s → e → o whose second fact has the relation of the query: the subject may do what a neighbour did.

    .. math::
        \log w = b_r + u_r \cdot v_{r_1} + f_{r, r_1}(\Delta t_1) + f_r(\Delta t_2) + \kappa \log n_2
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limits = config.first_edges, config.same_edges
        self.bias = RelationEmbedding(num_relations, 1, value=-3.0)
        self.query, self.first = (RelationEmbedding(num_relations, config.rank, deviation=0.3) for _ in range(2))
        self.query_age, self.first_age, self.second_age = (
            RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3)
        )
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, batch: QueryBatch) -> Paths:
        """Return all such paths."""
        row, first = batch.first_hops(self.limits[0])
        relation = batch.relation[row]
        log_weight = self.bias(relation)[:, 0] + (self.query(relation) * self.first(first.relation)).sum(dim=1)
        log_weight = log_weight + of_age(self.query_age(relation) + self.first_age(first.relation), first.age)

        before, second, number = batch.answer_hops(first.object, relation, self.limits[1])
        onward = _positions(second.object != batch.subject[row][before])
        before, second, number = before[onward], second[onward], number[onward]
        log_weight = log_weight.index_select(0, before) + of_age(self.second_age(second.relation), second.age)
        log_weight = log_weight + self.number * torch.log(number)
        return Paths(row[before], (first[before], second), _weight(log_weight))


class ThreeHopsSame(nn.Module):
    r"""Paths s → e ← s' → o, all of the query's relation: the subject may do what those did who acted like it.

    .. math::
        \log w = b_r + f_r(\Delta t_1) + f'_r(\Delta t_2) + f''_r(\Delta t_3) + \kappa \log n_3
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limit = config.same_edges
        self.bias = RelationEmbedding(num_relations, 1, value=-4.0)
        self.ages = nn.ModuleList(RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3))
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, batch: QueryBatch) -> Paths:
        """Return all such paths."""
        inverse = batch.history.vocabulary.inverse
        row, first, _ = batch.answer_hops(batch.subject, batch.relation, self.limit)
        relation = batch.relation[row]
        log_weight = self.bias(relation)[:, 0] + of_age(self.ages[0](relation), first.age)

        before, second, _ = batch.answer_hops(first.object, inverse(relation), self.limit)
        others = _positions(second.object != batch.subject[row][before])
        before, second = before[others], second[others]
        row, first = row[before], first[before]
        relation = batch.relation[row]
        log_weight = log_weight.index_select(0, before) + of_age(self.ages[1](relation), second.age)

        before, third, number = batch.answer_hops(second.object, relation, self.limit)
        onward = _positions(third.object != first.object[before])
        before, third, number = before[onward], third[onward], number[onward]
        log_weight = log_weight.index_select(0, before) + of_age(self.ages[2](third.relation), third.age)
        log_weight = log_weight + self.number * torch.log(number)
        return Paths(row[before], (first[before], second[before], third), _weight(log_weight))


def _positions(mask: Tensor) -> Tensor:
    """Return the positions of the true values; indexing several tensors with a mask would search it each time."""
    return mask.nonzero()[:, 0]


def _weight(log_weight: Tensor) -> Tensor:
    return torch.exp(log_weight.clamp(max=MAX_LOG_WEIGHT))
