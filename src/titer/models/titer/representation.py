"""Which vector stands for which entity in which question."""

import torch
from torch import Tensor

from titer.graph.queries import Queries
from titer.models.titer.inductive import InductiveTable


class Representation:
    """A table of static embeddings, and the row of every entity as a question sees it.

    Without the inductive mean this is the entity table itself. With it, untrained entities have rows of their own for
    every state they were in, and the subject of a question a row made for that question alone.
    """

    def __init__(self, table: Tensor, queries: Queries, inductive: InductiveTable | None = None):
        self.inductive = inductive
        self.asked = queries.time
        self.table = table
        self.subject = queries.subject
        if inductive is not None:
            shift, self.applies = inductive.shifted(queries)
            self.own_row = len(inductive.table) + torch.arange(len(queries), device=table.device)
            self.table = torch.cat([inductive.table, shift])

    def rows(self, entity: Tensor, question: Tensor | None = None) -> Tensor:
        """The row of each entity. (walks, …)

        ``question`` says which question each walk belongs to; by default the walks are the questions in order.
        """
        if self.inductive is None:
            return entity
        asked, subject, own, applies = (
            values if question is None else values[question]
            for values in (self.asked, self.subject, self.own_row, self.applies)
        )
        for _ in range(entity.dim() - 1):
            asked, subject, own, applies = asked[..., None], subject[..., None], own[..., None], applies[..., None]
        rows = self.inductive.rows(entity, asked.expand_as(entity))
        return torch.where((entity == subject) & applies, own, rows)
