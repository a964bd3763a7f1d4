"""The inductive mean: representations of entities that are unseen in training (section 3.5 of the paper)."""

import torch
from torch import Tensor

from titer.data.facts import Facts
from titer.data.vocabulary import Vocabulary
from titer.graph.history import History
from titer.graph.queries import Queries
from titer.graph.sorted_edges import LAST_STEP, TIME_BITS


def co_occurrences(facts: Facts, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Return the distinct pairs (entity, relation) that occur together in a fact: the members of every E_r."""
    queries, _ = Queries.from_facts(facts, vocabulary)
    pair = torch.unique(queries.subject * vocabulary.num_directed_relations + queries.relation)
    return pair // vocabulary.num_directed_relations, pair % vocabulary.num_directed_relations


def relation_means(table: Tensor, entity: Tensor, relation: Tensor, num_relations: int) -> tuple[Tensor, Tensor]:
    """Return ē^r, the mean of the trained entities with relation r, and their number. (relations, dim), (relations,)"""
    sums = table.new_zeros(num_relations, table.shape[1]).index_add_(0, relation, table[entity])
    count = torch.bincount(relation, minlength=num_relations)
    return sums / count.clamp(min=1)[:, None], count


class InductiveTable:
    r"""The entity table, extended by a row for every state that an unseen entity has been in.

    $$
    \mathbf{e}_{t} = \mu\,\mathbf{e}_{t-1} + (1 - \mu)\,\frac{\sum_{r \in R_t(e)} \bar{\mathbf{e}}^r}{|R_t(e)|}
    $$

    R_t(e) are the relations of the facts of e at time t. A representation changes only at times with a fact of its
    entity, so the table has one more row for each such time. ``rows`` returns the last state before a query. No row
    ever changes.
    """

    def __init__(self, table: Tensor, trained: Tensor, means: Tensor, known: Tensor, history: History, mu: float):
        self.trained = trained  # (entities,)
        self.means, self.known, self.mu = means, known, mu
        self.first_time = history.first_time
        num_entities = history.vocabulary.num_entities
        base = torch.cat([table, table.new_zeros(num_entities - len(table), table.shape[1])])
        unseen = torch.nonzero(~self._is_trained(torch.arange(num_entities, device=table.device)))[:, 0]
        end = torch.full_like(unseen, (history.last_time or 0) + 1)
        edges = history.all_before(unseen, end)
        # R_t(e) is a set: each relation counts once for every (entity, time).
        when = (unseen[edges.row] << TIME_BITS) + edges.time - self.first_time
        order = torch.unique(torch.stack([when, edges.relation], dim=1), dim=0)
        self.key, place, size = torch.unique_consecutive(order[:, 0], return_inverse=True, return_counts=True)
        mean = table.new_zeros(len(self.key), table.shape[1]).index_add_(0, place, means[order[:, 1]])
        self.offset = num_entities
        self.table = torch.cat([base, self._update(base, mean / size[:, None])])

    def _is_trained(self, entity: Tensor) -> Tensor:
        inside = entity < len(self.trained)
        return inside & self.trained[entity.clamp(max=len(self.trained) - 1)]

    def _update(self, base: Tensor, mean: Tensor) -> Tensor:
        """Return the state after every update: first updates of all entities, then second updates, …"""
        entity = self.key >> TIME_BITS
        first = torch.searchsorted(entity, entity)
        turn = torch.arange(len(entity), device=entity.device) - first
        state = torch.empty_like(mean)
        updates = turn.argsort(stable=True).split(torch.bincount(turn).tolist())
        for number, now in enumerate(updates):
            before = base[entity[now]] if number == 0 else state[now - 1]
            state[now] = self.mu * before + (1 - self.mu) * mean[now]
        return state

    def rows(self, entity: Tensor, query_time: Tensor) -> Tensor:
        """Return the row of each entity's last state before the time of its query."""
        key = (entity << TIME_BITS) + (query_time - self.first_time).clamp(0, LAST_STEP)
        place = torch.searchsorted(self.key, key) - 1
        found = (place >= 0) & ((self.key[place.clamp(min=0)] >> TIME_BITS) == entity) if len(self.key) else place >= 0
        return torch.where(found, self.offset + place, entity)

    def shifted(self, queries: Queries) -> tuple[Tensor, Tensor]:
        """Return e_{q,t_q,r_q} of every query, and where it applies.

        It applies if the subject is unseen and r_q occurs in training.
        """
        row = self.rows(queries.subject, queries.time)
        shift = self.mu * self.table[row] + (1 - self.mu) * self.means[queries.relation]
        applies = ~self._is_trained(queries.subject) & (self.known[queries.relation] > 0)
        return shift, applies
