"""The xERTE model."""

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
from titer.models.xerte.attention import Attention, AttentionContext, TimeEncoding
from titer.models.xerte.config import XERTEConfig
from titer.models.xerte.paths import evidence
from titer.models.xerte.sampling import Nodes, prior_edges
from titer.models.xerte.subgraph import SubgraphExpansion
from titer.models.xerte.update import Link, Update

MIN_ATTENTION = 1e-30
"""Lower bound of attention inside a logarithm."""


@register
class XERTE(Model):
    r"""Attention flow from the query's node through an expanding subgraph of the history.

    Formula:
        $$
        a_{v_q} = 1, \quad a_u \leftarrow \sum_v \alpha_{vu} a_v, \quad
        P(e \mid e_q, p_q, t_q) \propto \sum_{u = (e, t)} a_u
        $$

        The subgraph starts as the node \(v_q = (e_q, t_q)\), which has all attention. In every expansion each node
        \(v = (e, t)\) divides its attention among itself and its latest edges to earlier nodes \(u = (e', t')\) (see
        ``Attention``), and the \(K\) edges with the most attention are kept. Then the reverse update (see ``Update``)
        passes representations back from the nodes reached last to the query's node, whose representation guides the
        next expansion.

    Reference:
        Han, Chen, Ma and Tresp, "Explainable Subgraph Reasoning for Forecasting on Temporal Knowledge Graphs",
        ICLR 2021.

    Differences from the publication:
        The comparison is with the paper and the authors' code.

        - The latest edges of a node are taken, by default 64, 32 and 32 in the three expansions. The authors draw 15
          edges in each, with probabilities that depend on time.
        - All edges of the last expansion count; none are pruned.
        - Representations have the same size, by default 128, in every expansion. The authors' sizes shrink from 256
          over 128 and 64 to 32.
        - The loss is the cross-entropy of the answer among all reached entities, without other true answers at the
          query's time. The authors' default is the binary cross-entropy.
        - The reverse update uses the attention that an edge had when it was kept, and applies \(W_h\) and LeakyReLU at
          every node that it passes. The authors recompute the attention of all kept edges in every expansion, and apply
          \(W_h\) and LeakyReLU once at its end, to relations too; here relations pass through \(W_h\) alone.
        - A node that two expansions reach is two nodes, each with its own representation.
        - A node reached for the first time is represented by its embedding, \([\bar e_e; \Phi(t_q - t)]\). The authors
          project it and pass it through the \(W_h\) of the earlier expansions.
        - The query's representation \(h_q\) takes part in the reverse update. The authors' does not.
        - Attention scores are divided by \(\sqrt d\), their linear maps have biases, and dropout is an addition.
        - The initial frequencies of \(\Phi\) go down to \(10^{-4}\) instead of \(10^{-9}\).
        - An entity without a fact in training keeps its initial embedding.

    Convention of the published figures:
        Ties have the mean of their ranks, as here, and an answer that attention does not reach counts as 0. Here it is
        tied with all other entities that are not reached. ``titer.evaluation.published_conventions`` has the authors'
        convention.

    Size:
        The TITer paper gives 2.927 million parameters for xERTE. These are the authors' linear maps alone, counted for
        ICEWS14: two square matrices of attention in each expansion, with 1024, 512 and 256 rows (2.753 million), the
        layers between expansions (0.043) and the projection of embeddings (0.131). Their embeddings of entities and
        relations, 256 numbers each, add 1.9 million. Here attention compares vectors of 64 numbers, and an entity has
        96, so that 0.97 million parameters include everything.
    """

    name = "xerte"
    Config = XERTEConfig
    config: XERTEConfig

    def __init__(self, vocabulary: Vocabulary, axis: TimeAxis, config: XERTEConfig | None = None):
        super().__init__(vocabulary, axis, config)
        # Small initial values limit the effect of entities without a fact in training.
        self.entity = nn.Parameter(0.1 * torch.randn(vocabulary.num_entities, self.config.entity_dim))
        self.relation = nn.Parameter(torch.randn(vocabulary.num_relation_ids, self.config.node_dim))
        self.time = TimeEncoding(self.config.time_dim)
        self.attentions = nn.ModuleList(Attention(self.config) for _ in self.config.num_edges)
        # The last expansion gives the answer, so no update follows it.
        self.updates = nn.ModuleList(Update(self.config) for _ in self.config.num_edges[1:])
        self._others = OtherAnswers(vocabulary)

    def prepare(self, train: Facts, valid: Facts) -> None:
        """Index the true answers of training, to exclude them from the loss of other answers."""
        self._others.learn_from(train)

    def training_step(self, queries: Queries, answers: Tensor, history: History) -> StepResult:
        """Return the cross-entropy of the answers that attention reaches; the others have no gradient."""
        attention = self._attention(queries, history)
        attention = attention.index_put(self._others(queries, answers), attention.new_zeros(()))
        of_answer = attention.gather(1, answers[:, None])[:, 0]
        reached = of_answer > 0
        total, of_answer = (values.clamp(min=MIN_ATTENTION) for values in (attention.sum(dim=1), of_answer))
        loss = torch.log(total) - torch.log(of_answer)
        return StepResult((loss * reached).mean(), {"reached": reached.float().mean()})

    def score(self, queries: Queries, history: History) -> Tensor:
        """Return the logarithm of the final attention of every entity. (queries, num_entities)"""
        scores = self._attention(queries, history).log()
        return mask_unseen(scores, queries, self.vocabulary.num_entities, history)

    def _attention(self, queries: Queries, history: History) -> Tensor:
        """Return the final attention of every entity. (queries, num_entities)"""
        return self._expand(queries, history)[-1].by_entity(len(queries), history.vocabulary.num_entities)

    def _expand(self, queries: Queries, history: History) -> list[SubgraphExpansion]:
        """Return the expansions of the subgraphs of all queries."""
        context = self._context(queries, history)
        nodes = Nodes.of_queries(queries)
        attention = context.entity.new_ones(len(queries))
        hidden = [context.embed(nodes)]  # h of the source nodes of each expansion
        links: list[Link] = []
        expansions: list[SubgraphExpansion] = []
        for layer, max_edges, update in zip(self.attentions, self.config.num_edges, [*self.updates, None], strict=True):
            edges = prior_edges(history, nodes, queries.time, max_edges, strictly_back=self.config.strictly_back)
            query = torch.cat([hidden[0], context.relation.index_select(0, queries.relation)], dim=1)
            alpha = layer(nodes, edges, hidden[-1], query, context)
            flow = alpha * attention.index_select(0, edges.source)
            expansions.append(SubgraphExpansion(nodes, edges.source, edges.relation, edges.target, alpha, flow))
            if not isinstance(update, Update):
                break
            expansions[-1] = expansions[-1].pruned(len(queries), self.config.kept_edges)
            nodes, attention, link = expansions[-1].reached()
            links.append(link)
            hidden = [self._dropout(part) for part in update([*hidden, context.embed(nodes)], links)]
            context = context._replace(relation=update.W_h(context.relation))
        return expansions

    def _context(self, queries: Queries, history: History) -> AttentionContext:
        entity = self._dropout(append_mean_rows(self.entity, history))
        return AttentionContext(entity, self.time, self._dropout(self.relation), queries.time)

    def _dropout(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.config.dropout, self.training)

    def explain(self, query: Queries, answer: int, history: History, limit: int = 10) -> list[Evidence]:
        """Return the paths through the subgraph to the answer, each with its share of the answer's attention."""
        return evidence(self._expand(query, history), answer, self.vocabulary)[:limit]
