"""Embeddings of entity names by their words."""

import re
from collections.abc import Iterable
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary
from titer.graph.ragged import spread
from titer.models.path_mixture.bags import sum_rows

BUCKETS = 8192
"""Number of rows of the table. A word's row is its hash, so that words of names added after training have one too."""


def words_of(name: str) -> list[str]:
    """Return the words of a name, and the text in each pair of parentheses as a whole.

    ``Police (South Sudan)`` has police, south, sudan and (south sudan).
    """
    name = name.replace("_", " ").lower()
    return re.findall(r"\w+", name) + re.findall(r"\([^()]+\)", name)


def phrases_of(name: str) -> list[str]:
    """Return the text outside of parentheses, and the text in each pair: police and (south sudan)."""
    name = name.replace("_", " ").lower()
    return [re.sub(r"\([^()]*\)", "", name).strip(), *re.findall(r"\([^()]+\)", name)]


class Names(nn.Module):
    """The mean embedding of the words of a name, plus the mean embedding of its phrases."""

    learned: Tensor  # (BUCKETS,) rows that occur in names of training; the others are treated as zero

    def __init__(self, dim: int):
        super().__init__()
        self.words = nn.Parameter(0.1 * torch.randn(BUCKETS, dim))
        self.register_buffer("learned", torch.ones(BUCKETS, dtype=torch.bool))
        self._parts: tuple[Vocabulary, Tensor, Tensor, Tensor] | None = None

    def learn_from(self, names: Iterable[str]) -> None:
        """Record which rows occur in the names of training."""
        self.learned.fill_(False)
        for name in names:
            self.learned[_rows(words_of(name)) + _rows(phrases_of(name))] = True

    def forward(self, vocabulary: Vocabulary, entities: Tensor) -> Tensor:
        """Return the embeddings of the names of some entities. (entities, dim)"""
        if self._parts is None or self._parts[0] is not vocabulary:
            # Inference tensors could not be used in a later training step.
            with torch.inference_mode(False):
                self._parts = vocabulary, *self._concatenated(vocabulary.entities)
        _, rows, share, start = self._parts
        first, end = start.index_select(0, entities), start.index_select(0, entities + 1)
        _, place = spread(first, end)
        words = rows.index_select(0, place)
        weight = share.index_select(0, place) * self.learned.index_select(0, words)
        length = end - first
        return sum_rows(self.words, words, length.cumsum(0) - length, weight)

    def _concatenated(self, names: list[str]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows of all names, concatenated, their shares, and the position at which each name begins."""
        rows, shares, ends = list[int](), list[float](), list[int]()
        for name in names:
            for part in (_rows(words_of(name)), _rows(phrases_of(name))):
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


def _rows(words: list[str]) -> list[int]:
    return [crc32(word.encode()) % BUCKETS for word in words]
