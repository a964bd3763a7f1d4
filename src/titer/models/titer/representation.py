"""The vectors that represent entities in a query."""

import torch
from torch import Tensor

from titer.graph.queries import Queries
from titer.models.titer.inductive import InductiveTable


class Representation:
    """A table of static embeddings, and the row of every entity for a given query.

    Without the inductive mean this is the entity table itself. With it, the table has one more row for every state that
    an unseen entity has been in, and one more for the subject of every query.
    """

    def __init__(self, table: Tensor, queries: Queries, inductive: InductiveTable | None = None):
        self.inductive = inductive
        self.query_time = queries.time
        self.table = table
        self.subject = queries.subject
        if inductive is not None:
            shift, self.applies = inductive.shifted(queries)
            self.own_row = len(inductive.table) + torch.arange(len(queries), device=table.device)
            self.table = torch.cat([inductive.table, shift])

    def rows(self, entity: Tensor, owner: Tensor | None = None) -> Tensor:
        """Return the row of each entity. (walks, …)

        ``owner`` is the query that each walk belongs to. By default walk i belongs to query i.
        """
        if self.inductive is None:
            return entity
        time, subject, own, applies = (
            values if owner is None else values[owner]
            for values in (self.query_time, self.subject, self.own_row, self.applies)
        )
        for _ in range(entity.dim() - 1):
            time, subject, own, applies = time[..., None], subject[..., None], own[..., None], applies[..., None]
        rows = self.inductive.rows(entity, time.expand_as(entity))
        return torch.where((entity == subject) & applies, own, rows)
