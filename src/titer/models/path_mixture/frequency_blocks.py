"""The frequency term of the prior in blocks of entities, for evaluation with many entities."""

import torch
from torch import Tensor

from titer.graph.count_features import features_at
from titer.models.path_mixture.entity_states import EntityStates
from titer.models.path_mixture.frequency import Frequency
from titer.models.path_mixture.query_batch import QueryBatch

PAIRS_AT_ONCE = 1 << 17
"""Pairs of relation and answer, or of query and answer, that are processed together."""


class FrequencyBlocks:
    """The frequency term for the distinct relations of a batch, computed for some entities at a time.

    Only answers that have occurred differ from what a matrix product gives, and only those are stored.
    """

    def __init__(self, module: Frequency, batch: QueryBatch, entities: EntityStates):
        self._module, self._relation, self._activity = module, batch.relations.values, entities.activity
        self._width = len(entities.activity)
        row, answer, event = batch.pair_index.answers_before(self._relation, batch.elapsed)
        column, order = torch.sort(entities.row(batch, answer))
        row, event = row.index_select(0, order), event.index_select(0, order)
        parts = zip(*(each.split(PAIRS_AT_ONCE) for each in (row, column, event)), strict=True)
        instead = [self._instead_of(batch, *part) for part in parts]
        self._row, self._column = row, column
        self._instead = torch.cat(instead) if instead else self._activity.new_empty(0)
        self._key, self._by_key = torch.sort(row * self._width + column)

    def _instead_of(self, batch: QueryBatch, row: Tensor, column: Tensor, event: Tensor) -> Tensor:
        as_answer = features_at(batch.pair_index.answers, event, batch.elapsed)
        return self._module.instead(self._relation, self._activity, row, column, as_answer)

    def block(self, start: int, end: int) -> Tensor:
        """Return the term of some rows of entities. (relations, end - start)"""
        module, relation = self._module, self._relation
        block = module.usual(relation, module.activity(self._activity[start:end]))
        bounds = torch.tensor([start, end], device=self._column.device)
        first, last = torch.searchsorted(self._column, bounds).tolist()
        index = self._row[first:last] * (end - start) + self._column[first:last] - start
        return block.view(-1).index_add_(0, index, self._instead[first:last]).view(block.shape)

    def at(self, place: Tensor, column: Tensor) -> Tensor:
        """Return the term of some pairs: the position of the relation, and the row of the entity. (pairs,)"""
        module, relation = self._module, self._relation.index_select(0, place)
        activity = module.activity(self._activity.index_select(0, column))
        found = module.never(relation)[:, 0] + (module.activity_of(relation) * activity).sum(dim=1)
        if len(self._key) == 0:
            return found
        key = place * self._width + column
        slot = torch.searchsorted(self._key, key).clamp(max=len(self._key) - 1)
        occurred = self._key.index_select(0, slot) == key
        return found + torch.where(occurred, self._instead.index_select(0, self._by_key.index_select(0, slot)), 0.0)
