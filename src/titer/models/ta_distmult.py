"""TA-DistMult: a relation and the digits of a date make one relation of the moment."""

import numpy as np
import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.common.embedding import EmbeddingConfig, EmbeddingModel, small_embedding
from titer.models.registry import register

SIGNS = "0123456789-"


@register
class TADistMult(EmbeddingModel):
    r"""Reads the relation and then the date, sign by sign, and multiplies what it has read with subject and object.

    .. math::
        \phi(o \mid s, r, t) = \langle e_s,\; \mathrm{LSTM}(r, d_1(t), \dots, d_n(t)),\; e_o \rangle

    The signs of a date are its digits as the time axis writes it, 2014-08-15 or 177; those that all dates of training
    share are left out. A time that training has not seen is read as the last before it that training has, and one
    before all of them as the first.

    In the paper a sign knows its place: the digits of years and of days are different signs, a month is one sign of
    twelve, and none is left out. Here a digit is the same sign wherever it stands.

    García-Durán, Dumančić and Niepert, "Learning Sequence Encoders for Temporal Knowledge Graph Completion"
    (EMNLP 2018).
    """

    name = "ta_distmult"
    Config = EmbeddingConfig
    config: EmbeddingConfig
    times: Tensor  # (times,) all that training has seen, in order
    dates: Tensor  # (times, signs) what is read for each

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: EmbeddingConfig | None = None):
        super().__init__(vocabulary, axis, config)
        dim = self.config.dim
        self.entity = small_embedding(vocabulary.num_entities, dim)
        self.relation = nn.Embedding(vocabulary.num_directed_relations, dim)
        self.sign = nn.Embedding(len(SIGNS), dim)
        self.reader = nn.LSTMCell(dim, dim)
        self.register_buffer("times", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("dates", torch.zeros(1, 0, dtype=torch.int64))

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Write out the dates of training as well."""
        super().prepare(train, valid)
        if len(train):
            self.times = torch.from_numpy(np.unique(train.time))
            self.dates = signs_of_dates([self.axis.label(step) for step in self.times.tolist()])

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """φ for every entity. (queries, num_entities)"""
        entity = self.of_all(self.entity.weight, history)
        return self.dropout(entity[queries.subject] * self._read(queries)) @ entity.T

    def _read(self, queries: Queries) -> Tensor:
        """What is left of the relation and the date when the last sign was read. (queries, dim)"""
        read, memory = self.reader(self.relation(queries.relation))
        date = (torch.searchsorted(self.times, queries.time.contiguous(), right=True) - 1).clamp(min=0)
        for sign in self.dates[date].unbind(dim=1):
            read, memory = self.reader(self.sign(sign), (read, memory))
        return read


def signs_of_dates(labels: list[str]) -> Tensor:
    """Which sign stands where in each date, in those places in which they differ. (dates, places)"""
    width = max(map(len, labels))
    padded = [label.zfill(width) for label in labels]
    places = [place for place in zip(*padded, strict=True) if len(set(place)) > 1]
    signs = [[SIGNS.index(sign) for sign in place] for place in places]
    return torch.tensor(signs, dtype=torch.int64).view(len(places), len(labels)).T.contiguous()
