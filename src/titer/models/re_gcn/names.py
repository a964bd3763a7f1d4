"""Initial embeddings of entities from the parts of their names: the static graph of RE-GCN."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary
from titer.models.re_gcn.evolution import SLOPE

WHOLE, BEFORE, INSIDE = range(3)
"""The parts of a name: all of it; what is before parentheses, and what is inside them."""


def name_parts(name: str) -> list[tuple[int, str]]:
    """Return the parts of a name, each with its kind.

    ``Police (Kenya)`` has the parts ``Police`` and ``Kenya``; a name without parentheses is one part.
    """
    before, opened, rest = name.partition("(")
    inside, closed, _ = rest.partition(")")
    if not (opened and closed):
        return [(WHOLE, name)]
    return [(BEFORE, before.strip(" _")), (INSIDE, inside.strip(" _"))]


class NameEmbedding(nn.Module):
    r"""The embedding of an entity from the parts of its name.

    Formula:
        $$e_v = f\Big(\frac{1}{|A_v|} \sum_{(k, a) \in A_v} W_k w_a\Big)$$

        \(A_v\) are the parts of the name of \(v\) with their kinds \(k\), and \(w_a\) is the embedding of a part. Equal
        parts of different names share it.
    """

    def __init__(self, vocabulary: Vocabulary, dim: int, dropout: float):
        super().__init__()
        parts = [name_parts(name) for name in vocabulary.entities]
        numbers: dict[str, int] = {}
        for _, text in (part for found in parts for part in found):
            numbers.setdefault(text, len(numbers))
        self.part = nn.Parameter(torch.empty(len(numbers), dim))
        self.maps = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in (WHOLE, BEFORE, INSIDE))
        nn.init.xavier_normal_(self.part)
        self.dropout = nn.Dropout(dropout)
        for kind in (WHOLE, BEFORE, INSIDE):
            rows = [(v, numbers[text]) for v, found in enumerate(parts) for k, text in found if k == kind]
            table = torch.tensor(rows, dtype=torch.int64).view(-1, 2).T.contiguous()
            self.register_buffer(f"kind_{kind}", table, persistent=False)
        share = torch.tensor([1 / len(found) for found in parts])
        self.register_buffer("share", share[:, None], persistent=False)

    share: Tensor  # (entities, 1) one divided by the number of parts of each name

    def forward(self) -> Tensor:
        """Return the embedding of every entity. (entities, dim)"""
        total = self.part.new_zeros(len(self.share), self.part.shape[1])
        for kind, layer in enumerate(self.maps):
            entity, part = self.get_buffer(f"kind_{kind}")
            total = total.index_add(0, entity, layer(self.part.index_select(0, part)))
        return self.dropout(functional.leaky_relu(total * self.share, SLOPE))
