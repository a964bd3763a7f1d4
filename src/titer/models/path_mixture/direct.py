"""Past facts between the subjects of a batch and answers, and their weights as paths of one hop."""

from dataclasses import dataclass, replace
from typing import Annotated

import torch
from torch import Tensor, nn

from titer.graph.count_features import features, no_features
from titer.graph.decayed_counts import HORIZONS, decay
from titer.graph.latest_series import latest_series
from titer.graph.pair_index import of_rows
from titer.graph.ragged import spread
from titer.graph.sorted_edges import LAST_STEP
from titer.models.common.plan import Column, Unplanned
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.paths import Paths
from titer.models.path_mixture.query_batch import Hop, QueryBatch
from titer.models.path_mixture.reached import Ends
from titer.models.path_mixture.relation_embedding import RelationEmbedding


@dataclass(frozen=True)
class PastFacts:
    """The past facts of the subjects of a batch, by series (s, r', o) and by pair (s, o).

    Queries with the same subject share its series and pairs. What belongs to one query is a list of references to them.
    """

    relation: Annotated[Tensor, Column("series")]  # (series,) r'
    counts: Annotated[Tensor, Column("series")]  # (series, horizons) decayed counts at the time of the queries
    features: Annotated[Tensor, Column("series")]  # (series, NUM_FEATURES) the features of these counts
    pair: Annotated[Tensor, Column("series", of="pairs")]  # (series,) the pair that each series belongs to
    # Features of all facts of each pair, of whatever relation, less those of a pair without facts.
    pair_features: Annotated[Tensor, Column("pairs")]  # (pairs, NUM_FEATURES)
    query_pair: Annotated[Tensor, Column("query_pairs", of="pairs")]  # (query pairs,) the pairs of each query
    query_series: Annotated[Tensor, Column("query_series", of="series")]  # (query series,) the series of each query
    query: Annotated[Tensor, Column("query_series", of="queries")]  # (query series,)
    # The series of each query with the relation of the query; a pair has at most one.
    same: Annotated[Tensor, Column("same_series", of="query_series")]  # (same series,)
    same_features: Annotated[Tensor, Column("same_series")]  # (same series, NUM_FEATURES) less those without facts
    ends: Annotated[Ends, Unplanned()]  # (query pairs,) the query and the answer of each
    series_tag: Annotated[Tensor, Unplanned()]  # (series,) of the subject
    pair_tag: Annotated[Tensor, Unplanned()]  # (pairs,) of the subject
    series_end: Annotated[Tensor, Unplanned()]  # (query series,) the position in ``ends``

    @classmethod
    def of(cls, batch: QueryBatch, limit: int) -> "PastFacts":
        """Look up the series with a fact among the latest edges of each subject, once for each distinct subject."""
        index, subjects = batch.pair_index, batch.subjects
        subject, group = batch.untagged(subjects.values)
        elapsed = batch.elapsed_of(group)
        series = latest_series(batch.history, subject, elapsed, limit)
        device, num_subjects, elapsed = series.row.device, len(subject), of_rows(elapsed, series.row)
        counts = index.series.counts_at(series.event, elapsed)
        age = index.series.age_at(series.event, elapsed)
        number = index.series.number.index_select(0, series.event)
        of_series, nothing = features(counts, number, age), no_features(device)

        # Series are sorted by subject and object, so those of a pair follow each other.
        new_pair = torch.ones(len(series.row), dtype=torch.bool, device=device)
        new_pair[1:] = (series.row[1:] != series.row[:-1]) | (series.object[1:] != series.object[:-1])
        pair, first = new_pair.cumsum(0) - 1, positions(new_pair)
        num_pairs = len(first)
        pair_counts = torch.zeros(num_pairs, counts.shape[1], device=device).index_add_(0, pair, counts)
        numbers = torch.zeros(num_pairs, device=device).index_add_(0, pair, number)
        min_age = age.new_full((num_pairs,), LAST_STEP).scatter_reduce_(0, pair, age, "amin")

        # Every query has all pairs and all series of its subject.
        pair_row, position = series.row.index_select(0, first), torch.arange(num_subjects + 1, device=device)
        first_pair, first_series = torch.searchsorted(pair_row, position), torch.searchsorted(series.row, position)
        start, end = (first_pair[side].index_select(0, subjects.place) for side in (slice(None, -1), slice(1, None)))
        row, query_pair = spread(start, end)
        ends = Ends(row, series.object.index_select(0, first).index_select(0, query_pair))
        offset = torch.cumsum(end - start, 0) - end  # from the number of a pair to its position among the query's ends
        start, end = (first_series[side].index_select(0, subjects.place) for side in (slice(None, -1), slice(1, None)))
        query, query_series = spread(start, end)
        relation = series.relation.index_select(0, query_series)
        same = positions(relation == batch.relation.index_select(0, query))
        return cls(
            relation=series.relation,
            counts=counts,
            features=of_series,
            pair=pair,
            pair_features=features(pair_counts, numbers, min_age) - nothing,
            query_pair=query_pair,
            query_series=query_series,
            query=query,
            same=same,
            same_features=of_series.index_select(0, query_series.index_select(0, same)) - nothing,
            ends=ends,
            series_tag=subjects.values.index_select(0, series.row),
            pair_tag=subjects.values.index_select(0, pair_row),
            series_end=pair.index_select(0, query_series) + offset.index_select(0, query),
        )

    def some(self, pairs: Tensor, same: Tensor) -> "PastFacts":
        """Return the facts with some of the pairs of queries, and some of their series with the query's relation."""
        return replace(
            self,
            query_pair=self.query_pair.index_select(0, pairs),
            same=self.same.index_select(0, same),
            same_features=self.same_features.index_select(0, same),
        )

    def groups(self, batch: QueryBatch) -> dict[str, Tensor]:
        """Return the group of each row of every dimension, ascending."""
        return {
            "series": batch.group_of_tag(self.series_tag),
            "pairs": batch.group_of_tag(self.pair_tag),
            "query_pairs": batch.group_of_row(self.ends.row),
            "query_series": batch.group_of_row(self.query),
            "same_series": batch.group_of_row(self.query.index_select(0, self.same)),
        }


class Direct(nn.Module):
    r"""Paths of one hop: all past facts (s, r', o, t') of the series that ``PastFacts`` has, of any age.

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

    def coefficients(self, query: Tensor) -> Tensor:
        """Return the weight of each horizon, for some relations of queries. (query, num_relations, horizons)"""
        is_same = (query[:, None] == torch.arange(self.pair.num_embeddings, device=query.device))[:, :, None]
        log_weight = self.pair(query)[:, :, None] + is_same * self.same
        log_kernel = self.query(query)[:, None] + self.past.weight + is_same * self.same_at
        return torch.exp(log_weight.clamp(max=10) + log_kernel.clamp(max=10))

    def forward(self, relations: Tensor, place: Tensor, facts: PastFacts) -> Tensor:
        """Return the weight of every series of every query: the sum over its facts. (query series,)

        Args:
            relations: The distinct relations of the queries. Shape ``(relations,)``.
            place: The position of the relation of each query among them. Shape ``(queries,)``.
            facts: The past facts of the subjects.
        """
        table = self.coefficients(relations).view(-1, len(HORIZONS))
        relation = place.index_select(0, facts.query) * self.pair.num_embeddings
        index = relation + facts.relation.index_select(0, facts.query_series)
        return (table.index_select(0, index) * facts.counts.index_select(0, facts.query_series)).sum(dim=1)

    def paths(self, query: Tensor, past: Tensor, age: Tensor, answer: int) -> Paths:
        """Return the facts between one query's subject and an answer as paths of a single hop.

        Args:
            query: Relation of the query. Shape ``(1,)``.
            past: Relations of the facts. Shape ``(facts,)``.
            age: Ages of the facts. Shape ``(facts,)``.
            answer: The answer.
        """
        horizons = torch.tensor(HORIZONS, device=age.device)
        weight = (self.coefficients(query)[0].index_select(0, past) * decay(age, horizons)).sum(dim=1)
        hop = Hop(past, torch.full_like(past, answer), age)
        return Paths(torch.zeros_like(past), (hop,), weight)
