"""The part of the prior that depends on the subject: how well an answer fits it."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.graph.count_features import NUM_FEATURES
from titer.models.path_mixture.bags import Bags, sum_rows
from titer.models.path_mixture.config import PathMixtureConfig
from titer.models.path_mixture.dropout import Dropout
from titer.models.path_mixture.entity_states import EntityStates
from titer.models.path_mixture.names import NameBags, Names
from titer.models.path_mixture.path_plans import positions
from titer.models.path_mixture.prior_plans import EntityPlan, QueryPlan, plan_edges, plan_entities
from titer.models.path_mixture.query_batch import QueryBatch
from titer.models.path_mixture.relation_embedding import RelationEmbedding

ENTITIES_AT_ONCE = 1 << 16
"""Entities whose states are computed together outside of training, so that further memory does not grow with all."""


class Fit(nn.Module):
    r"""The match between subject and answer, by their embeddings and states.

    .. math::
        \mathrm{fit} = \mathrm{MLP}[e_s, r, h_s, x_{sr}] \cdot (e_o + V h_o)

    The state h of an entity is computed from its latest edges, and e is its embedding plus the embedding of its name.
    The own embedding is zero for unseen entities, so that the model learns to do without it. For answers without a past
    fact everything is zero: that an entity exists, and its name, are not known before its first fact.
    """

    def __init__(self, num_entities: int, num_relations: int, config: PathMixtureConfig):
        super().__init__()
        dim = config.dim
        self.state_edges, self.entity_dropout = config.state_edges, config.entity_dropout
        self.entity = nn.Embedding(num_entities, dim)
        # A step that samples candidates reads a part of a large table, and updates only that part.
        self.sparse = num_entities > config.exact_entities
        nn.init.normal_(self.entity.weight, std=0.1)
        self.names = Names(dim) if config.names else None
        self.relation = RelationEmbedding(num_relations, dim, deviation=0.1)
        self.state = nn.Linear(dim, dim)
        self.query = nn.Sequential(
            nn.Linear(3 * dim + NUM_FEATURES, 2 * dim), nn.ReLU(), Dropout(config.dropout), nn.Linear(2 * dim, dim)
        )
        self.answer_state = nn.Linear(dim, dim, bias=False)
        self.dropout = Dropout(config.dropout)

    def name_bags(self, batch: QueryBatch) -> NameBags | None:
        """Return the names of all entities; None without names."""
        return None if self.names is None else self.names.bags_of(batch.history.vocabulary)

    def describe(self, plan: EntityPlan) -> tuple[Tensor, Tensor, Tensor]:
        """Return e, h and e + V h of all known entities, each followed by a row of zeros. (known + 1, dim) each"""
        assert plan.edges is not None
        embedding = self._embeddings(plan.entity, plan.usable, plan.names)
        state = self._states(plan.edges, self._table(embedding))
        as_answer = self.dropout(embedding + self.answer_state(state))
        embedding, state, as_answer = (functional.pad(each, (0, 0, 0, 1)) for each in (embedding, state, as_answer))
        return embedding, state, as_answer

    def describe_some(self, batch: QueryBatch, known: Tensor, trained: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same as ``describe`` for some of the known entities."""
        edges = batch.latest(known, self.state_edges)
        seen = torch.zeros(batch.num_entities + 1, dtype=torch.bool, device=known.device)
        seen.index_fill_(0, edges.object.view(-1), True).index_fill_(0, known, False)
        # Their neighbours follow; they need embeddings, but no states.
        listed = torch.cat([known, positions(seen[:-1])])
        row_of = torch.zeros(batch.num_entities, dtype=torch.int64, device=known.device)
        row_of[listed] = torch.arange(len(listed), device=known.device)
        embedding = self._embeddings_of(batch, listed, trained)
        state = self._states(plan_edges(batch, known, self.state_edges, row_of), self._table(embedding))
        embedding = embedding[: len(known)]
        as_answer = self.dropout(embedding + self.answer_state(state))
        embedding, state, as_answer = (functional.pad(each, (0, 0, 0, 1)) for each in (embedding, state, as_answer))
        return embedding, state, as_answer

    def describe_known(
        self, batch: QueryBatch, known: Tensor, trained: Tensor, earlier: tuple[int, EntityStates] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same as ``describe`` outside of training, some entities at a time.

        With the result for an earlier time, only entities with facts since then are computed: the embeddings of the
        others, and of their neighbours, do not change after their first fact.
        """
        relations, num_known = self.relation.weight, len(known)
        table = relations.new_zeros(len(relations) + num_known + 1, relations.shape[1])
        table[: len(relations)] = relations
        embedding = table[len(relations) :]
        state, as_answer = torch.zeros_like(embedding), torch.zeros_like(embedding)
        num_earlier, changed = 0, torch.arange(num_known, device=known.device)
        if earlier is not None:
            time, states = earlier
            num_earlier = states.num_known
            for values, old in ((embedding, states.embedding), (state, states.state), (as_answer, states.as_answer)):
                values[:num_earlier] = old[:-1]
            since, until = (torch.full_like(known, at) for at in (time, batch.time))
            changed = torch.ne(*(batch.history.count_before(known, at) for at in (since, until))).nonzero()[:, 0]
        for first in range(num_earlier, num_known, ENTITIES_AT_ONCE):
            some = known[first : first + ENTITIES_AT_ONCE]
            embedding[first : first + len(some)] = self._embeddings_of(batch, some, trained)
        for rows in changed.split(ENTITIES_AT_ONCE):
            edges = plan_edges(batch, known.index_select(0, rows), self.state_edges, batch.pair_index.rank)
            found = self._states(edges, table)
            state.index_copy_(0, rows, found)
            as_answer.index_copy_(0, rows, embedding.index_select(0, rows) + self.answer_state(found))
        return embedding, state, as_answer

    def forward(self, plan: QueryPlan, entities: EntityStates) -> Tensor:
        """Return the vector of every query, whose product with that of an answer is their fit. (queries, dim)"""
        subject, relation = plan.subject.clamp(max=entities.num_known), self.relation(plan.relation)
        embedding = entities.embedding.index_select(0, subject)
        if self.names is not None:
            assert plan.names is not None
            embedding = embedding + self.names(plan.names)
        inputs = [
            self.dropout(embedding),
            relation,
            self.dropout(entities.state.index_select(0, subject)),
            plan.activity,
        ]
        return self.query(torch.cat(inputs, dim=1))

    def _embeddings_of(self, batch: QueryBatch, known: Tensor, trained: Tensor) -> Tensor:
        """Return the embeddings of some entities with a past fact, plus those of their names. (entities, dim)"""
        names = self.name_bags(batch)
        return self._embeddings(*plan_entities(known, trained), None if names is None else names.bags(known))

    def _embeddings(self, entity: Tensor, usable: Tensor, names: Bags | None) -> Tensor:
        if self.training:
            usable = usable * (torch.rand(len(usable), device=usable.device) >= self.entity_dropout)
        own = self._own_embeddings(entity) * usable[:, None]
        return own if self.names is None or names is None else own + self.names(names)

    def _own_embeddings(self, entity: Tensor) -> Tensor:
        if self.sparse:
            return functional.embedding(entity, self.entity.weight, sparse=True)
        # Its gradient is summed in place; that of an embedding sorts first.
        return self.entity.weight.index_select(0, entity)

    def _table(self, embedding: Tensor) -> Tensor:
        """Return what edges refer to: the embeddings of all relations, followed by those of entities."""
        return torch.cat([self.relation.weight, embedding])

    def _states(self, edges: Bags, table: Tensor) -> Tensor:
        """Return the states of some entities, from the means of their latest edges. (entities, dim)"""
        return torch.tanh(self.state(sum_rows(table, edges)))
