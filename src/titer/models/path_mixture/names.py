"""Embeddings of entity names by their words."""

import re
from collections.abc import Iterable
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary

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
        self._parts: tuple[Vocabulary, list[tuple[Tensor, Tensor]]] | None = None

    def learn_from(self, names: Iterable[str]) -> None:
        """Record which rows occur in the names of training."""
        self.learned.fill_(False)
        for name in names:
            self.learned[_rows(words_of(name)) + _rows(phrases_of(name))] = True

    def forward(self, vocabulary: Vocabulary) -> Tensor:
        """Return the embeddings of the names of all entities. (entities, dim)"""
        if self._parts is None or self._parts[0] is not vocabulary:
            parts = [[_rows(part(name)) for name in vocabulary.entities] for part in (words_of, phrases_of)]
            # Inference tensors could not be used in a later training step.
            with torch.inference_mode(False):
                self._parts = vocabulary, [self._concatenated(rows) for rows in parts]
        words = self.words * self.learned[:, None]
        words_mean, phrases_mean = (
            functional.embedding_bag(rows, words, start, mode="mean") for rows, start in self._parts[1]
        )
        return words_mean + phrases_mean

    def _concatenated(self, rows: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Return the rows of all names, concatenated, and the position at which each name begins."""
        flat = torch.tensor([row for each in rows for row in each], dtype=torch.int64)
        end = torch.tensor([len(each) for each in rows], dtype=torch.int64).cumsum(0)
        start = functional.pad(end, (1, 0))[:-1]
        return flat.to(self.words.device), start.to(self.words.device)


def _rows(words: list[str]) -> list[int]:
    return [crc32(word.encode()) % BUCKETS for word in words]
