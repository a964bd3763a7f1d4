"""Embeddings of entity names by their words."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary
from titer.graph.ragged import spread
from titer.models.path_mixture.bags import Bags, sum_rows

BUCKETS = 8192
"""Number of rows of the table. A word's row is its hash, so that words of names added after training have one too."""
WORD, INSIDE = re.compile(r"\w+"), re.compile(r"\([^()]+\)")
"""A word, and the text in a pair of parentheses."""


def words_of(name: str) -> list[str]:
    """Return the words of a name, and the text in each pair of parentheses as a whole.

    ``Police (South Sudan)`` has police, south, sudan and (south sudan).
    """
    name = name.replace("_", " ").lower()
    return WORD.findall(name) + INSIDE.findall(name)


def phrases_of(name: str) -> list[str]:
    """Return the text outside of parentheses, and the text in each pair: police and (south sudan)."""
    name = name.replace("_", " ").lower()
    return [re.sub(r"\([^()]*\)", "", name).strip(), *INSIDE.findall(name)] if "(" in name else [name.strip()]


class Names(nn.Module):
    """The mean embedding of the words of a name, plus the mean embedding of its phrases."""

    learned: Tensor  # (BUCKETS,) rows that occur in names of training; the others are treated as zero

    def __init__(self, dim: int):
        super().__init__()
        self.words = nn.Parameter(0.1 * torch.randn(BUCKETS, dim))
        self.register_buffer("learned", torch.ones(BUCKETS, dtype=torch.bool))
        self._parts: tuple[Vocabulary, NameBags] | None = None

    def learn_from(self, names: Iterable[str]) -> None:
        """Record which rows occur in the names of training."""
        self._parts = None
        rows = {row for name in names for part in _parts_of(name) for row in part}
        self.learned.fill_(False)
        self.learned[list(rows)] = True

    def bags_of(self, vocabulary: Vocabulary) -> "NameBags":
        """Return the rows of all names of a vocabulary."""
        if self._parts is None or self._parts[0] is not vocabulary or self._parts[1].learned is not self.learned:
            # Inference tensors could not be used in a later optimisation step.
            with torch.inference_mode(False):
                rows, share, start = self._concatenated(vocabulary.entities)
                self._parts = vocabulary, NameBags(rows, share, start, self.learned)
        return self._parts[1]

    def forward(self, bags: Bags) -> Tensor:
        """Return the embeddings of the names of some entities. (entities, dim)"""
        return sum_rows(self.words, bags)

    def _concatenated(self, names: list[str]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows of all names, concatenated, their shares, and the position at which each name begins."""
        rows, shares, ends = list[int](), list[float](), list[int]()
        for name in names:
            for part in _parts_of(name):
                rows += part
                shares += [1 / max(len(part), 1)] * len(part)
            ends.append(len(rows))
        start = functional.pad(torch.tensor(ends, dtype=torch.int64), (1, 0))
        device = self.words.device
        return (
            torch.tensor(rows, dtype=torch.int64, device=device),
            torch.tensor(shares, device=device),
            start.to(device),
        )


@dataclass(frozen=True)
class NameBags:
    """The rows of all names of a vocabulary, concatenated."""

    rows: Tensor  # (words,)
    share: Tensor  # (words,) the weight of each row in the embedding of its name
    start: Tensor  # (entities + 1,) where each name begins
    learned: Tensor  # (BUCKETS,) rows that occur in names of training; the others are treated as zero

    def bags(self, entities: Tensor, wanted: Tensor | None = None) -> Bags:
        """Return the names of some entities as bags; empty ones for those that are not wanted."""
        first, end = self.start.index_select(0, entities), self.start.index_select(0, entities + 1)
        if wanted is not None:
            end = torch.where(wanted, end, first)
        _, place = spread(first, end)
        rows = self.rows.index_select(0, place)
        weight = self.share.index_select(0, place) * self.learned.index_select(0, rows)
        return Bags(rows, weight, end - first)


def _parts_of(name: str) -> tuple[list[int], list[int]]:
    """Return the rows of the words of a name, and those of its phrases."""
    return _rows(words_of(name)), _rows(phrases_of(name))


def _rows(words: list[str]) -> list[int]:
    return [crc32(word.encode()) % BUCKETS for word in words]
