"""The TiRGN model."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.sorted_edges import LAST_STEP
from titer.models.common.conv_trans import ConvTrans
from titer.models.common.entities import mask_unseen
from titer.models.evidence import Edge, Evidence
from titer.models.re_gcn.evolution import Evolved, RecurrentGate
from titer.models.re_gcn.model import REGCN
from titer.models.registry import register
from titer.models.tirgn.config import TiRGNConfig

LOCAL = "the local mode, which reads the latest snapshots"
"""Note of the evidence for the share of an answer that comes from the evolved embeddings."""
UNIFORM = "the global mode, which gives all answers without a past fact the same weight"
"""Note of the evidence for the share that the global mode gives to an answer that was never one before."""


class TimeVectors(nn.Module):
    r"""Two vectors of a time step \(t\): \(w_1 t' + b_1\), a trend, and \(\sin(w_2 t + b_2)\), which is periodic.

    \(t\) counts time steps since the first of training. \(t'\) is the share of the training split that has passed, 0
    before it and 1 after it.
    """

    span: Tensor  # (2,) the first and the last time step of training

    def __init__(self, dim: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(2, dim)), nn.Parameter(torch.randn(2, dim))
        self.register_buffer("span", torch.zeros(2, dtype=torch.int64))

    def forward(self, time: int) -> tuple[Tensor, Tensor]:
        """Return the trend and the periodic vector of a time step. (dim,) each"""
        first, last = self.span
        share = (time - first).clamp(min=0).minimum(last - first) / (last - first).clamp(min=1)
        trend = self.weight[0] * share + self.bias[0]
        return trend, torch.sin(self.weight[1] * (time - first) + self.bias[1])


@register
class TiRGN(REGCN):
    r"""RE-GCN with a recurrent update, mixed with a decoder that knows all past answers, both guided by time.

    Formula:
        $$
        \begin{aligned}
        P_l &= \mathrm{softmax}\big(\mathrm{ConvTransE}_l(\tanh h_s, R_{t-1,r}, \tau_1, \tau_2) \cdot \tanh h_o\big) \\
        P_g &= \mathrm{softmax}\big(m_o (\mathrm{ConvTransE}_g(\tanh h_s, R_{t-1,r}, \tau_1, \tau_2) \cdot \tanh h_o
            + b)\big), \qquad
            m_o = \begin{cases} 1 & (s, r, o, t') \text{ for some } t' < t \\ 0 & \text{otherwise} \end{cases} \\
        P(o \mid s, r, t) &= \alpha P_g(o) + (1 - \alpha) P_l(o)
        \end{aligned}
        $$

        \(h\) and \(R\) evolve as in ``REGCN``, with a GRU instead of its gate (``RecurrentGate``). \(\tau_1\) and
        \(\tau_2\) are the trend and the periodic vector of the query's time, see ``TimeVectors``. The probability of a
        relation between two entities is a mixture of the same form, whose global mode knows all past relations between
        them, without \(b\). The loss is that of ``REGCN``.

    Reference:
        Li, Sun and Zhao, "TiRGN: Time-Guided Recurrent Graph Network with Local-Global Historical Patterns for Temporal
        Knowledge Graph Reasoning", IJCAI 2022.

    Differences from the publication:
        The comparison is with the authors' code.

        - The bias \(b\) is learned. It begins at the logarithm of the number of entities, so that one past answer is
          about as probable as all other entities together. The authors have none.
        - The trend \(\tau_1\) depends on the share of training that has passed and is constant afterwards. The authors'
          grows with the number of time steps without bound.
        - All differences of ``REGCN``.
    """

    name = "tirgn"
    Config = TiRGNConfig
    Update = RecurrentGate
    num_inputs = 4
    config: TiRGNConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: Any = None):
        super().__init__(vocabulary, axis, config)
        sizes = (self.num_inputs, self.config.dim, self.config.channels, self.config.dropout)
        self.global_entity_decoder, self.global_relation_decoder = ConvTrans(*sizes), ConvTrans(*sizes)
        self.time_vectors = TimeVectors(self.config.dim)
        self.past_bias = nn.Parameter(torch.tensor(math.log(max(vocabulary.num_entities, 1))))  # b

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Store the time span of training, and which answers of a query are true at the same time."""
        super().prepare(train, valid)
        if len(train):
            self.time_vectors.span.copy_(torch.tensor([int(train.time.min()), int(train.time.max())]))

    def entity_scores(self, queries: Queries, time: int, evolved: Evolved, history: History) -> Tensor:
        """Return log P of every entity for queries of one time step. (queries, num_entities)"""
        return torch.logaddexp(*self._modes(queries, time, evolved, history))

    def relation_scores(
        self, queries: Queries, answers: Tensor, time: int, evolved: Evolved, history: History
    ) -> Tensor:
        """Return log P of every relation between subjects and answers. (queries, directed relations)"""
        context = self._context(queries, time)
        local_scores, global_scores = (
            self.decode_relations(decoder, queries, answers, evolved, *context)
            for decoder in (self.relation_decoder, self.global_relation_decoder)
        )
        elapsed = min(max(time - history.first_time, 0), LAST_STEP)
        past = history.pair_index.relations_between(queries.subject, answers, elapsed)
        return torch.logaddexp(*self._mixture(local_scores, _only(past, global_scores)))

    def _modes(self, queries: Queries, time: int, evolved: Evolved, history: History) -> tuple[Tensor, Tensor]:
        """Return log (1 - α) P_l and log α P_g of every entity. (queries, num_entities) each"""
        context = self._context(queries, time)
        local_scores, global_scores = (
            self.decode_entities(decoder, queries, evolved, *context)
            for decoder in (self.entity_decoder, self.global_entity_decoder)
        )
        past = history.pair_index.answers_ever(queries.subject, queries.relation, history.elapsed(queries.time))
        # Entities without a fact before the query are masked before the softmax, so that they get no probability.
        return self._mixture(
            *(
                mask_unseen(scores, queries, self.vocabulary.num_entities, history)
                for scores in (local_scores, _only(past, global_scores + self.past_bias))
            )
        )

    def _mixture(self, local_scores: Tensor, global_scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weighted log probabilities of both modes."""
        weight = self.config.history_weight
        return (
            math.log1p(-weight) + local_scores.log_softmax(dim=1),
            math.log(weight) + global_scores.log_softmax(dim=1),
        )

    def _context(self, queries: Queries, time: int) -> list[Tensor]:
        """Return the time vectors for every query. (queries, dim) each"""
        return [vector.expand(len(queries), -1) for vector in self.time_vectors(time)]

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the past facts behind the share of the global mode, and the share of the local mode.

        The global mode depends on whether an answer is in the history, not on how often, so its facts have equal
        shares. The local mode reads whole snapshots, and its share is not divided among their facts.
        """
        time, elapsed = int(query.time), int(history.elapsed(query.time))
        modes = self._modes(query, time, self.evolved(time, history), history)
        from_local, from_global = torch.stack([mode[0, answer] for mode in modes]).softmax(dim=0).tolist()
        relation, age = history.pair_index.facts_between(query.subject, answer, elapsed)
        times = sorted((history.first_time + elapsed - age[relation == query.relation]).tolist(), reverse=True)
        edges = [Edge(int(query.subject), int(query.relation), answer, fact_time) for fact_time in times]
        found = [Evidence((edge,), from_global / len(edges)) for edge in edges]
        found = [*(found or [Evidence((), from_global, UNIFORM)]), Evidence((), from_local, LOCAL)]
        return sorted(found, key=lambda item: -item.share)[:limit]


def _only(places: tuple[Tensor, Tensor], scores: Tensor) -> Tensor:
    """Return the scores with zeros at all but some places, given as rows and columns."""
    kept = torch.zeros_like(scores).index_put_(places, scores.new_ones(()))
    return scores * kept
