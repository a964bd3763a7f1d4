"""TA-DistMult: an LSTM over a relation and the characters of a date, and the score of DistMult."""

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

CHARACTERS = "0123456789-"
"""Every character that the label of a time step can have."""


@register
class TADistMult(EmbeddingModel):
    r"""DistMult whose relation embedding is an LSTM's encoding of the relation and the characters of the date.

    Formula:
        $$\phi(o \mid s, r, t) = \langle e_s,\; \mathrm{LSTM}(r, d_1(t), \dots, d_n(t)),\; e_o \rangle$$

        \(d_i(t)\) are the characters of the date as the time axis writes it, such as 2014-08-15 or 177. A time step
        without a fact in training is read as the latest one before it that has a fact, or as the first of training.

    Reference:
        García-Durán, Dumančić and Niepert, "Learning Sequence Encoders for Temporal Knowledge Graph Completion",
        EMNLP 2018.

    Differences from the publication:
        - A digit has the same embedding wherever it occurs. In the paper the digits of years and of days have different
          embeddings, and a month is one token of twelve.
        - Positions at which all dates of training have the same character are left out. The paper leaves out none.
        - The loss is the cross-entropy over all entities; other true answers at the query's time are excluded from
          it. The paper trains against sampled negatives.
        - A query for the subject uses an inverse relation of its own. The paper uses the same relation for both
          directions.
        - Dropout on the query is an addition, and so is the mean embedding for entities without a fact in training.
    """

    name = "ta_distmult"
    Config = EmbeddingConfig
    config: EmbeddingConfig
    times: Tensor  # (times,) the time steps of training in order
    dates: Tensor  # (times, positions) the characters of each

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: EmbeddingConfig | None = None):
        super().__init__(vocabulary, axis, config)
        dim = self.config.dim
        self.entity = small_embedding(vocabulary.num_entities, dim)
        self.relation = nn.Embedding(vocabulary.num_directed_relations, dim)
        self.character = nn.Embedding(len(CHARACTERS), dim)
        self.lstm = nn.LSTMCell(dim, dim)
        self.register_buffer("times", torch.zeros(1, dtype=torch.int64))
        self.register_buffer("dates", torch.zeros(1, 0, dtype=torch.int64))

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Encode the dates of training as characters."""
        super().prepare(train, valid)
        if len(train):
            self.times = torch.from_numpy(np.unique(train.time))
            self.dates = encode_dates([self.axis.label(step) for step in self.times.tolist()])

    def plausibility(self, queries: Queries, history: History) -> Tensor:
        """Return φ of every entity. (queries, num_entities)"""
        entity = self.of_all(self.entity.weight, history)
        return self.dropout(entity[queries.subject] * self._encode(queries)) @ entity.T

    def _encode(self, queries: Queries) -> Tensor:
        """Return the LSTM's output after the last character of the date. (queries, dim)"""
        output, cell = self.lstm(self.relation(queries.relation))
        date = (torch.searchsorted(self.times, queries.time.contiguous(), right=True) - 1).clamp(min=0)
        for character in self.dates[date].unbind(dim=1):
            output, cell = self.lstm(self.character(character), (output, cell))
        return output


def encode_dates(labels: list[str]) -> Tensor:
    """Return the characters of each date at the positions at which the dates differ. (dates, positions)"""
    width = max(map(len, labels))
    padded = [label.zfill(width) for label in labels]
    positions = [column for column in zip(*padded, strict=True) if len(set(column)) > 1]
    codes = [[CHARACTERS.index(character) for character in column] for column in positions]
    return torch.tensor(codes, dtype=torch.int64).view(len(positions), len(labels)).T.contiguous()
