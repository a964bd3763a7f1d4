"""The kinds of paths that lead from a subject to answers, and what a path of each kind weighs."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.decayed_counts import HORIZONS, fading
from titer.graph.pair_index import Latest, Series
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding

NUM_KNOTS = 12
KNOTS_PER_DOUBLING = 1.2
LARGEST_LOG_WEIGHT = 20.0


@dataclass(frozen=True)
class Hop:
    """One fact of every path of a batch."""

    relation: Tensor  # (paths,)
    object: Tensor  # (paths,)
    age: Tensor  # (paths,) steps before the question

    def __getitem__(self, rows: Tensor) -> "Hop":
        return Hop(self.relation[rows], self.object[rows], self.age[rows])


@dataclass(frozen=True)
class Paths:
    """Paths of one kind, laid end to end."""

    row: Tensor  # (paths,) which question
    steps: tuple[Hop, ...]
    weight: Tensor  # (paths,) positive

    @property
    def answer(self) -> Tensor:
        """Where each path ends. (paths,)"""
        return self.steps[-1].object

    def gathered(self, num_questions: int, num_entities: int) -> Tensor:
        """The sum of the weights of all paths that end at each answer. (questions * entities,)"""
        sums = torch.zeros(num_questions * num_entities, device=self.weight.device)
        return sums.index_add(0, self.row * num_entities + self.answer, self.weight)


def of_age(heights: Tensor, age: Tensor) -> Tensor:
    """A function of log Δt that is linear between knots, given by its heights there. (paths,)"""
    place = torch.log2(age.clamp(min=1).float()) * KNOTS_PER_DOUBLING
    left = place.floor().clamp(max=NUM_KNOTS - 2)
    share = (place - left).clamp(max=1)
    left = left.long()[:, None]
    return heights.gather(1, left)[:, 0] * (1 - share) + heights.gather(1, left + 1)[:, 0] * share


class Direct(nn.Module):
    r"""Past facts (s, r', o, t') between the subject and the answer: all of them, however old.

    .. math::
        w = e^{W_{r r'} + [r' = r]\,\sigma} \sum_h e^{a_{rh} + b_{r'h} + [r' = r]\,c_h} \, e^{-(\Delta t - 1)/\tau_h}

    Summed over a series (s, r', o, ·) in one look-up, because faded counts are carried along (see ``DecayedCounts``).
    """

    def __init__(self, num_relations: int):
        super().__init__()
        self.pair = RelationEmbedding(num_relations, num_relations)
        self.same = nn.Parameter(torch.tensor(2.0))
        self.asked = RelationEmbedding(num_relations, len(HORIZONS), value=-2.0)
        self.past = RelationEmbedding(num_relations, len(HORIZONS))
        self.same_at = nn.Parameter(torch.zeros(len(HORIZONS)))

    def coefficients(self, asked: Tensor, past: Tensor) -> Tensor:
        """What each horizon counts, for pairs of relations. (pairs, horizons)"""
        is_same = (asked == past)[:, None]
        pair = self.pair.weight.view(-1).index_select(0, asked * self.pair.num_embeddings + past)
        log_weight = pair[:, None] + is_same * self.same
        log_kernel = self.asked(asked) + self.past(past) + is_same * self.same_at
        return torch.exp(log_weight.clamp(max=10) + log_kernel.clamp(max=10))

    def forward(self, asked: QueryBatch, series: Series, counts: Tensor) -> Tensor:
        """The weight of every series: the sum of those of its facts. (series,)"""
        return (self.coefficients(asked.relation[series.row], series.relation) * counts).sum(dim=1)

    def paths(self, asked: Tensor, past: Tensor, age: Tensor, answer: int) -> Paths:
        """The facts between one question's subject and an answer as paths of a single step."""
        horizons = torch.tensor(HORIZONS, device=age.device)
        weight = (self.coefficients(asked.expand(len(past)), past) * fading(age, horizons)).sum(dim=1)
        step = Hop(past, torch.full_like(past, answer), age)
        return Paths(torch.zeros_like(past), (step,), weight)


class TwoSteps(nn.Module):
    r"""Paths s → e → o over the latest edges of the subject and of its partners, whatever their relations.

    .. math::
        \log w = \langle u_r, v_{r_1}, x_{r_2} \rangle + f_{r, r_1}(\Delta t_1) + f_{r_2}(\Delta t_2) + \text{biases}
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limits = config.first_edges, config.second_edges
        self.asked, self.first, self.second = (
            RelationEmbedding(num_relations, config.rank, deviation=0.3) for _ in range(3)
        )
        self.asked_bias, self.first_bias = (RelationEmbedding(num_relations, 1) for _ in range(2))
        self.second_bias = RelationEmbedding(num_relations, 1, value=-3.0)
        self.asked_age, self.first_age, self.second_age = (
            RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3)
        )

    def forward(self, asked: QueryBatch) -> Paths:
        """All such paths."""
        row, first = _latest(asked, asked.subject, self.limits[0])
        relation = asked.relation[row]
        factor = self.asked(relation) * self.first(first.relation)
        log_weight = self.asked_bias(relation)[:, 0] + self.first_bias(first.relation)[:, 0]
        log_weight = log_weight + of_age(self.asked_age(relation) + self.first_age(first.relation), first.age)

        before, second = _latest(asked, first.object, self.limits[1])
        onward = _where(second.object != asked.subject[row][before])  # not back to where it began
        before, second = before[onward], second[onward]
        onto = factor.index_select(0, before) * self.second(second.relation)
        log_weight = log_weight.index_select(0, before) + onto.sum(dim=1)
        log_weight = log_weight + self.second_bias(second.relation)[:, 0]
        log_weight = log_weight + of_age(self.second_age(second.relation), second.age)
        return Paths(row[before], (first[before], second), _weight(log_weight))


class TwoStepsSame(nn.Module):
    r"""Paths s → e → o whose second fact has the question's relation: what a partner lately did, s may do.

    .. math::
        \log w = b_r + u_r \cdot v_{r_1} + f_{r, r_1}(\Delta t_1) + f_r(\Delta t_2) + \kappa \log n_2
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limits = config.first_edges, config.same_edges
        self.bias = RelationEmbedding(num_relations, 1, value=-3.0)
        self.asked, self.first = (RelationEmbedding(num_relations, config.rank, deviation=0.3) for _ in range(2))
        self.asked_age, self.first_age, self.second_age = (
            RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3)
        )
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, asked: QueryBatch) -> Paths:
        """All such paths."""
        row, first = _latest(asked, asked.subject, self.limits[0])
        relation = asked.relation[row]
        log_weight = self.bias(relation)[:, 0] + (self.asked(relation) * self.first(first.relation)).sum(dim=1)
        log_weight = log_weight + of_age(self.asked_age(relation) + self.first_age(first.relation), first.age)

        found = asked.pair_index.latest_answers(first.object, relation, asked.elapsed, self.limits[1])
        before, second = _steps(found, asked, relation)
        onward = _where(second.object != asked.subject[row][before])
        before, second, number = before[onward], second[onward], found.number[onward]
        log_weight = log_weight.index_select(0, before) + of_age(self.second_age(second.relation), second.age)
        log_weight = log_weight + self.number * torch.log(number)
        return Paths(row[before], (first[before], second), _weight(log_weight))


class ThreeStepsSame(nn.Module):
    r"""Paths s → e ← s' → o, all of the question's relation: what those do who did what s did.

    .. math::
        \log w = b_r + f_r(\Delta t_1) + f'_r(\Delta t_2) + f''_r(\Delta t_3) + \kappa \log n_3
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.limit = config.same_edges
        self.bias = RelationEmbedding(num_relations, 1, value=-4.0)
        self.ages = nn.ModuleList(RelationEmbedding(num_relations, NUM_KNOTS) for _ in range(3))
        self.number = nn.Parameter(torch.zeros(()))

    def forward(self, asked: QueryBatch) -> Paths:
        """All such paths."""
        pair_index, inverse = asked.pair_index, asked.history.vocabulary.inverse
        found = pair_index.latest_answers(asked.subject, asked.relation, asked.elapsed, self.limit)
        row, first = _steps(found, asked, asked.relation)
        relation = asked.relation[row]
        log_weight = self.bias(relation)[:, 0] + of_age(self.ages[0](relation), first.age)

        found = pair_index.latest_answers(first.object, inverse(relation), asked.elapsed, self.limit)
        before, second = _steps(found, asked, inverse(relation))
        others = _where(second.object != asked.subject[row][before])
        before, second = before[others], second[others]
        row, first = row[before], first[before]
        relation = asked.relation[row]
        log_weight = log_weight.index_select(0, before) + of_age(self.ages[1](relation), second.age)

        found = pair_index.latest_answers(second.object, relation, asked.elapsed, self.limit)
        before, third = _steps(found, asked, relation)
        onward = _where(third.object != first.object[before])
        before, third, number = before[onward], third[onward], found.number[onward]
        log_weight = log_weight.index_select(0, before) + of_age(self.ages[2](third.relation), third.age)
        log_weight = log_weight + self.number * torch.log(number)
        return Paths(row[before], (first[before], second[before], third), _weight(log_weight))


def _latest(asked: QueryBatch, entity: Tensor, limit: int) -> tuple[Tensor, Hop]:
    """The latest edges of entities, laid end to end, and whose they are."""
    edges = asked.latest(entity, limit)
    place = edges.mask.nonzero(as_tuple=True)
    return place[0], Hop(edges.relation[place], edges.object[place], asked.time - edges.time[place])


def _steps(found: Latest, asked: QueryBatch, relation: Tensor) -> tuple[Tensor, Hop]:
    return found.row, Hop(relation[found.row], found.object, asked.elapsed - found.elapsed)


def _where(mask: Tensor) -> Tensor:
    """The places where it holds: found once, where a mask would be searched for each tensor that it is used on."""
    return mask.nonzero()[:, 0]


def _weight(log_weight: Tensor) -> Tensor:
    return torch.exp(log_weight.clamp(max=LARGEST_LOG_WEIGHT))
