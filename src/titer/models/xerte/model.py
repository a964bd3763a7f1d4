"""xERTE: everything together behind the common base."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.models.base import Model, StepResult
from titer.models.common.entities import append_mean_rows, mask_unseen
from titer.models.common.other_answers import OtherAnswers
from titer.models.evidence import Evidence
from titer.models.registry import register
from titer.models.xerte.attention import Attention, Embeddings, TimeEncoding
from titer.models.xerte.config import XERTEConfig
from titer.models.xerte.paths import evidence
from titer.models.xerte.sampling import Nodes, prior_edges
from titer.models.xerte.subgraph import Expansion
from titer.models.xerte.update import Link, Update

LEAST = 1e-30
"""What is taken for no attention at all where a logarithm is needed."""


@register
class XERTE(Model):
    r"""Attention that flows from the question's node through a subgraph of the past.

    Zhen Han, Peng Chen, Yunpu Ma, Volker Tresp: "Explainable Subgraph Reasoning for Forecasting on Temporal Knowledge
    Graphs", ICLR 2021. The subgraph begins as the node (e_q, t_q), which has all attention. In every step each node
    v = (e, t) shares its attention out among itself and its latest edges to nodes u = (e', t') of the past (see
    ``Attention``), and the K edges with most attention are kept:

    .. math::
        a_{v_q} = 1, \quad a_u \leftarrow \sum_v \alpha_{vu} a_v, \quad
        P(e \mid e_q, p_q, t_q) \propto \sum_{u = (e, t)} a_u

    Then news travels back (see ``Update``), from the nodes reached last to those that led to them and so on to the
    question's, whose representation guides the next step.

    Where this differs from the paper and its code: edges are not drawn at random, the latest are taken; after the last
    step all of them count; and the loss is the cross-entropy of the answer among all that was reached, with other true
    answers of the moment taken out. News carries the attention that an edge had when it was kept, and every node that
    it passes applies W_h and LeakyReLU; the authors weigh all kept edges anew in every step and apply both once at its
    end, to relations too, where W_h is alone here. A node that is reached in two steps is two nodes, each with its own
    representation. One that is reached for the first time is its embedding alone, [ē_e; Φ(t_q - t)], where the authors
    project it and carry it through the W_h of the steps before; and their question's h_q hears no news. Attention is
    divided by √d, its maps have biases, Φ begins with frequencies down to 10^-4 instead of 10^-9, and there is dropout.

    An entity that training never saw keeps the embedding it began with.
    """

    name = "xerte"
    Config = XERTEConfig
    config: XERTEConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: XERTEConfig | None = None):
        super().__init__(vocabulary, axis, config)
        # An entity that was never trained should say little.
        self.entity = nn.Parameter(0.1 * torch.randn(vocabulary.num_entities, self.config.entity_dim))
        self.relation = nn.Parameter(torch.randn(vocabulary.num_relation_ids, self.config.node_dim))
        self.time = TimeEncoding(self.config.time_dim)
        self.attentions = nn.ModuleList(Attention(self.config) for _ in self.config.num_edges)
        # What was reached last is the answer: nobody is told any more.
        self.updates = nn.ModuleList(Update(self.config) for _ in self.config.num_edges[1:])
        self._others = OtherAnswers(vocabulary)

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Note which answers are true together."""
        self._others.learn_from(train)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Cross-entropy of the answers that attention reaches; from the others there is nothing to learn."""
        attention = self._attention(queries, history)
        attention = attention.index_put(self._others(queries, answers), attention.new_zeros(()))
        found = attention.gather(1, answers[:, None])[:, 0]
        reached = found > 0
        loss = torch.log(attention.sum(dim=1).clamp(min=LEAST)) - torch.log(found.clamp(min=LEAST))
        return StepResult((loss * reached).mean(), {"reached": reached.float().mean()})

    def score(self, queries: Queries, history: History) -> Tensor:
        """The logarithm of the attention that every entity has in the end. (queries, num_entities)"""
        scores = self._attention(queries, history).log()
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history)

    def _attention(self, queries: Queries, history: History) -> Tensor:
        return self._grow(queries, history)[-1].by_entity(len(queries), history.vocabulary.num_entities)

    def _grow(self, queries: Queries, history: History) -> list[Expansion]:
        """The subgraphs of all questions, step by step."""
        known = self._embeddings(queries, history)
        nodes = Nodes.asked(queries)
        attention = known.entity.new_ones(len(queries))
        hidden = [known.of(nodes)]  # h of the nodes that each step comes from
        links: list[Link] = []
        steps: list[Expansion] = []
        for layer, limit, update in zip(self.attentions, self.config.num_edges, [*self.updates, None], strict=True):
            edges = prior_edges(history, nodes, queries.time, limit, strictly_back=self.config.strictly_back)
            question = torch.cat([hidden[0], known.relation.index_select(0, queries.relation)], dim=1)
            alpha = layer(nodes, edges, hidden[-1], question, known)
            flow = alpha * attention.index_select(0, edges.source)
            steps.append(Expansion(nodes, edges.source, edges.relation, edges.target, alpha, flow))
            if not isinstance(update, Update):
                break
            steps[-1] = steps[-1].pruned(len(queries), self.config.kept_edges)
            nodes, attention, link = steps[-1].arrived()
            links.append(link)
            hidden = [self._dropout(part) for part in update([*hidden, known.of(nodes)], links)]
            known = known._replace(relation=update.W_h(known.relation))
        return steps

    def _embeddings(self, queries: Queries, history: History) -> Embeddings:
        entity = self._dropout(append_mean_rows(self.entity, history))
        return Embeddings(entity, self.time, self._dropout(self.relation), queries.time)

    def _dropout(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.config.dropout, self.training)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """The paths through the subgraph to the answer, each with its share of the answer's attention."""
        return evidence(self._grow(query, history), answer, self.vocabulary)[:limit]
