"""One mixture: the prior, the paths, and the trust in the paths to an answer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from titer.graph.count_features import NUM_FEATURES, features, no_features
from titer.graph.pair_index import Series
from titer.models.base import UNREACHED
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.names import Names
from titer.models.path_mixture.paths import MAX_LOG_WEIGHT, Direct, Paths, ThreeHopsSame, TwoHops, TwoHopsSame
from titer.models.path_mixture.prior import Prior, PriorOutput
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding

NUM_KINDS = 4
SMALL = 1e-3
"""Added to a sum of weights before its logarithm is used as a feature."""
TINY = 1e-9
"""Added to a sum of weights before its logarithm is used as a weight."""


@dataclass(frozen=True)
class Weights:
    """The weight of every answer, and its parts."""

    prior: Tensor  # (queries, entities) π, a logarithm
    trust: Tensor  # (queries, entities) φ, a logarithm; 0 where no path leads
    paths: Tensor  # (queries, entities) the total weight of all paths
    longer: tuple[Paths, ...]  # the paths of two and more hops; those of one hop are not stored one by one

    def log_probability(self) -> Tensor:
        """Return log P(o | s, r, t). (queries, entities)"""
        return torch.log_softmax(torch.logaddexp(self.prior, self.along_paths), dim=1)

    @property
    def along_paths(self) -> Tensor:
        """Log of e^φ Σ w, bounded from above. (queries, entities)"""
        bounded = (torch.log(self.paths + TINY) + self.trust).clamp(max=MAX_LOG_WEIGHT)
        return torch.where(self.paths > 0, bounded, UNREACHED)


@dataclass(frozen=True)
class DirectFacts:
    """The past facts of the subjects by series: the input of ``Direct``, and the resulting weights."""

    series: Series
    counts: Tensor  # (series, horizons) decayed counts at the time of the queries
    weight: Tensor  # (series,)

    def pair(self, batch: QueryBatch) -> Tensor:
        """Return the position of each series' (query, answer) among all pairs. (series,)"""
        return self.series.row * batch.num_entities + self.series.object


class Mixture(nn.Module):
    r"""The weight of an answer: the sum of a prior and the weights of all paths that lead to it.

    .. math::
        P(o \mid s, r, t) \propto e^{\pi(s, r, o)} + e^{\varphi(s, r, o)} \sum_{p: s \to o} w(p)
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.prior = Prior(num_entities, num_relations, config)
        self.direct = Direct(num_relations) if config.direct else None
        longer: list[nn.Module] = []
        if config.two_hops:
            longer.append(TwoHops(num_relations, config))
        if config.same_relation:
            longer += [TwoHopsSame(num_relations, config), ThreeHopsSame(num_relations, config)]
        self.longer = nn.ModuleList(longer)
        self.trust = Trust(num_relations, config) if config.trust else None

    @property
    def names(self) -> Names | None:
        """The embeddings of names, if the mixture has them."""
        return self.prior.fit.names if self.prior.fit is not None else None

    def forward(self, batch: QueryBatch, trained: Tensor) -> Weights:
        """Return the weights of all answers to queries of one time step."""
        prior = self.prior(batch, trained)
        direct = self._direct(batch)
        pair = direct.pair(batch)
        num_pairs = len(batch) * batch.num_entities
        longer = tuple(kind(batch) for kind in self.longer)
        # The total weight of each kind of path for each pair (query, answer).
        sums = [torch.zeros(num_pairs, device=pair.device).index_add(0, pair, direct.weight)]
        sums += [paths.total(len(batch), batch.num_entities) for paths in longer]
        total = torch.stack(sums).sum(dim=0)
        trust = torch.zeros_like(total)
        if self.trust is not None:
            reached = (total.detach() > 0).index_fill(0, pair, True).nonzero()[:, 0]
            trust = trust.index_put((reached,), self.trust(batch, reached, prior=prior, direct=direct, sums=sums))
        shape = (len(batch), batch.num_entities)
        return Weights(prior.prior, trust.view(shape), total.view(shape), longer)

    def _direct(self, batch: QueryBatch) -> DirectFacts:
        series = batch.pair_index.series_before(batch.subject, batch.elapsed)
        counts = batch.pair_index.series.counts_at(series.event, batch.elapsed)
        weight = torch.zeros_like(counts[:, 0]) if self.direct is None else self.direct(batch, series, counts)
        return DirectFacts(series, counts, weight)


class Trust(nn.Module):
    """φ: a learned factor for the paths to an answer, computed from all past facts of the pair (s, o).

    All paths to an answer share one factor, so the share of each path in their sum does not depend on it.
    """

    def __init__(self, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        self.dim = config.relation_dim
        self.query = RelationEmbedding(num_relations, config.relation_dim, deviation=0.3)
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
        self, batch: QueryBatch, reached: Tensor, *, prior: PriorOutput, direct: DirectFacts, sums: list[Tensor]
    ) -> Tensor:
        """Return φ of some pairs of query and answer.

        Args:
            batch: The queries.
            reached: The pairs, as row of the query * number of entities + answer. Shape ``(reached,)``.
            prior: The prior of all pairs.
            direct: The past facts of the subjects; all of their pairs are among the reached.
            sums: The total weight of each kind of path for all pairs. Shape ``(queries * entities,)`` each.

        Returns:
            Shape ``(reached,)``.
        """
        row, answer = reached // batch.num_entities, reached % batch.num_entities
        position = torch.zeros(len(batch) * batch.num_entities, dtype=torch.int64, device=reached.device)
        position[reached] = torch.arange(len(reached), device=reached.device)
        log_prior = prior.prior.reshape(-1).index_select(0, reached)
        kinds = [_log(total.index_select(0, reached)) for total in sums]
        # Kinds of paths that are switched off have no weight.
        kinds += [_log(torch.zeros_like(log_prior))] * (NUM_KINDS - len(sums))
        inputs = [
            *self._pair_features(batch, direct, position[direct.pair(batch)], len(reached)),
            *kinds,
            prior.subject_activity[row],
            log_prior[:, None] / 5,
            prior.frequency.reshape(-1).index_select(0, reached)[:, None] / 5,
            prior.activity[answer][:, 3:4],
            self.query(batch.relation).index_select(0, row),
        ]
        return self.network(torch.cat(inputs, dim=1))[:, 0] + self.prior_share * log_prior

    def _pair_features(self, batch: QueryBatch, direct: DirectFacts, pair: Tensor, num_pairs: int) -> list[Tensor]:
        """Return features of the past facts between subject and answer: of the query's relation, and of all.

        ``pair`` is the pair that each series belongs to. Each feature is (pairs, size).
        """
        series, counts, series_counts = direct.series, direct.counts, batch.pair_index.series
        age, number = series_counts.age_at(series.event, batch.elapsed), series_counts.number[series.event]
        each = features(counts, number, age)
        same = (series.relation == batch.relation[series.row]).nonzero()[:, 0]
        nothing = no_features(counts.device)

        same_features = nothing.repeat(num_pairs, 1)
        same_features[pair[same]] = each[same]
        same_weight = torch.zeros(num_pairs, device=counts.device)
        same_weight = same_weight.index_add(0, pair[same], direct.weight.index_select(0, same))

        total = torch.zeros(num_pairs, counts.shape[1], device=counts.device).index_add(0, pair, counts)
        total_number = torch.zeros(num_pairs, device=counts.device).index_add(0, pair, number)
        min_age = torch.full((num_pairs,), batch.elapsed + 1, device=age.device).scatter_reduce(0, pair, age, "amin")
        has_facts = torch.zeros(num_pairs, dtype=torch.bool, device=age.device).index_fill(0, pair, True)
        all_features = torch.where(has_facts[:, None], features(total, total_number, min_age), nothing)

        relations = torch.zeros(num_pairs, self.dim, device=counts.device)
        relations = relations.index_add(0, pair, self.past(series.relation) * self.gate(each))
        return [_log(same_weight), same_features, all_features, relations / 3]


def _log(total: Tensor) -> Tensor:
    return torch.log(total + SMALL)[:, None] / 3
