"""One mixture: the prior, the paths, and how far the paths to an answer are to be trusted."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.decayed_counts import NUM_FEATURES, features, no_features
from titer.graph.pair_index import Series
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.paths import (
    LARGEST_LOG_WEIGHT,
    Direct,
    Paths,
    ThreeStepsSame,
    TwoSteps,
    TwoStepsSame,
)
from titer.models.path_mixture.prior import Expectation, Prior
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding

NUM_KINDS = 4
SMALL = 1e-3
"""What is added to a sum of weights before its logarithm becomes a feature."""
TINY = 1e-9
"""The same where the logarithm is the weight itself."""


@dataclass(frozen=True)
class Weights:
    """The weight of every answer, and of everything that it is the sum of."""

    prior: Tensor  # (questions, entities) π, a logarithm
    trust: Tensor  # (questions, entities) φ, a logarithm; 0 where no path leads
    paths: Tensor  # (questions, entities) the sum of the weights of all paths
    kinds: tuple[Paths, ...]  # the longer paths; direct facts are looked up when they are asked for

    def log_probability(self) -> Tensor:
        """log P(o | s, r, t). (questions, entities)"""
        return torch.log_softmax(torch.logaddexp(self.prior, self.along_paths), dim=1)

    @property
    def along_paths(self) -> Tensor:
        """log of e^φ Σ w, bounded. (questions, entities)"""
        bounded = (torch.log(self.paths + TINY) + self.trust).clamp(max=LARGEST_LOG_WEIGHT)
        return torch.where(self.paths > 0, bounded, float("-inf"))


class Mixture(nn.Module):
    r"""The weight of an answer is the sum of the weights of all paths that reach it, and a prior.

    .. math::
        P(o \mid s, r, t) \propto e^{\pi(s, r, o)} + e^{\varphi(s, r, o)} \sum_{p: s \to o} w(p)
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.prior = Prior(num_entities, num_relations, config)
        self.direct = Direct(num_relations) if config.direct else None
        longer: list[nn.Module] = []
        if config.two_steps:
            longer.append(TwoSteps(num_relations, config))
        if config.same_relation:
            longer += [TwoStepsSame(num_relations, config), ThreeStepsSame(num_relations, config)]
        self.longer = nn.ModuleList(longer)
        self.trust = Trust(num_relations, config) if config.trust else None

    def forward(self, asked: QueryBatch, trained: Tensor) -> Weights:
        """The weights of all answers to questions of one moment."""
        expected = self.prior(asked, trained)
        series = asked.pair_index.series_before(asked.subject, asked.elapsed)
        counts = asked.pair_index.series.counts_at(series.event, asked.elapsed)
        weight = torch.zeros_like(counts[:, 0]) if self.direct is None else self.direct(asked, series, counts)
        place = series.row * asked.num_entities + series.object
        direct = torch.zeros(len(asked) * asked.num_entities, device=weight.device).index_add(0, place, weight)
        kinds = tuple(kind(asked) for kind in self.longer)
        sums = [direct, *(paths.gathered(len(asked), asked.num_entities) for paths in kinds)]
        total = torch.stack(sums).sum(dim=0)
        trust = torch.zeros_like(total)
        if self.trust is not None:
            reached = (total.detach() > 0).index_fill(0, place, True).nonzero()[:, 0]
            trust = trust.index_put((reached,), self.trust(asked, expected, series, counts, weight, sums, reached))
        shape = (len(asked), asked.num_entities)
        return Weights(expected.prior, trust.view(shape), total.view(shape), kinds)


class Trust(nn.Module):
    """φ: how far the paths to an answer are to be trusted, from all that is known of the pair (s, o).

    It is one factor for all paths to an answer, so that what each of them weighs stays a plain share of the sum.
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.dim = config.relation_dim
        self.asked = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.past = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
        self.gate = nn.Linear(NUM_FEATURES, config.relation_dim)
        self.prior_share = nn.Parameter(torch.zeros(()))
        inputs = 1 + NUM_KINDS + 3 * NUM_FEATURES + 3 + 2 * config.relation_dim
        self.network = nn.Sequential(
            nn.Linear(inputs, 2 * config.hidden_dim),
            nn.ReLU(),
            nn.Dropout(config.dropout / 2),
            nn.Linear(2 * config.hidden_dim, config.hidden_dim),
            nn.ReLU(),
            nn.Linear(config.hidden_dim, 1),
        )

    def forward(
        self,
        asked: QueryBatch,
        expected: Expectation,
        series: Series,
        counts: Tensor,
        weight: Tensor,
        sums: list[Tensor],
        reached: Tensor,
    ) -> Tensor:
        """φ for each of the reached places (row * entities + answer). (reached,)"""
        row, answer = reached // asked.num_entities, reached % asked.num_entities
        place = torch.zeros(len(asked) * asked.num_entities, dtype=torch.int64, device=reached.device)
        place[reached] = torch.arange(len(reached), device=reached.device)
        pair = place[series.row * asked.num_entities + series.object]  # (series,) its place among the reached
        prior = expected.prior.reshape(-1).index_select(0, reached)
        kinds = [_log(total.index_select(0, reached)) for total in sums]
        # A mixture with fewer kinds of paths has nothing to say about the others.
        kinds += [_log(torch.zeros_like(prior))] * (NUM_KINDS - len(sums))
        seen = [
            *self._of_pairs(asked, series, counts, weight, pair, len(reached)),
            *kinds,
            expected.habit[row],
            prior[:, None] / 5,
            expected.usual.reshape(-1).index_select(0, reached)[:, None] / 5,
            expected.activity[answer][:, 3:4],
            self.asked(asked.relation).index_select(0, row),
        ]
        return self.network(torch.cat(seen, dim=1))[:, 0] + self.prior_share * prior

    def _of_pairs(
        self, asked: QueryBatch, series: Series, counts: Tensor, weight: Tensor, pair: Tensor, num_pairs: int
    ) -> list[Tensor]:
        """What past facts between subject and answer say: those of the question's relation, and all together."""
        counts_of_series = asked.pair_index.series
        age = asked.elapsed - counts_of_series.elapsed[series.event]
        each = features(counts, counts_of_series.number[series.event], age)
        same = (series.relation == asked.relation[series.row]).nonzero()[:, 0]
        nothing = no_features(counts.device)

        same_features = nothing.repeat(num_pairs, 1)
        same_features[pair[same]] = each[same]
        same_weight = torch.zeros(num_pairs, device=counts.device)
        same_weight = same_weight.index_add(0, pair[same], weight.index_select(0, same))

        total = torch.zeros(num_pairs, counts.shape[1], device=counts.device).index_add(0, pair, counts)
        number = torch.zeros(num_pairs, device=counts.device).index_add(0, pair, counts_of_series.number[series.event])
        youngest = torch.full((num_pairs,), asked.elapsed + 1, device=age.device).scatter_reduce(0, pair, age, "amin")
        met = torch.zeros(num_pairs, dtype=torch.bool, device=age.device).index_fill(0, pair, True)
        all_features = torch.where(met[:, None], features(total, number, youngest), nothing)

        described = torch.zeros(num_pairs, self.dim, device=counts.device)
        described = described.index_add(0, pair, self.past(series.relation) * self.gate(each))
        return [_log(same_weight), same_features, all_features, described / 3]


def _log(total: Tensor) -> Tensor:
    return torch.log(total + SMALL)[:, None] / 3
