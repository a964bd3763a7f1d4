"""What the words of a name say about an entity."""

import re
from collections.abc import Iterable
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary

BUCKETS = 8192
"""Rows of the table; a word finds its row by its hash, so that names which come after training find theirs too."""


def words_of(name: str) -> list[str]:
    """The words of a name, and what stands in parentheses as a whole.

    ``Police (South Sudan)`` has police, south, sudan and (south sudan).
    """
    name = name.replace("_", " ").lower()
    return re.findall(r"\w+", name) + re.findall(r"\([^()]+\)", name)


def phrases_of(name: str) -> list[str]:
    """What stands outside of parentheses, and what inside: police and (south sudan)."""
    name = name.replace("_", " ").lower()
    return [re.sub(r"\([^()]*\)", "", name).strip(), *re.findall(r"\([^()]+\)", name)]


class Names(nn.Module):
    """The mean of the embeddings of a name's words, and the same of its phrases."""

    learned: Tensor  # (BUCKETS,) which rows belong to names of training; the others say nothing

    def __init__(self, dim: int):
        super().__init__()
        self.words = nn.Parameter(0.1 * torch.randn(BUCKETS, dim))
        self.register_buffer("learned", torch.ones(BUCKETS, dtype=torch.bool))
        self._parts: tuple[Vocabulary, list[tuple[Tensor, Tensor]]] | None = None

    def learn_from(self, names: Iterable[str]) -> None:
        """Note whose words training can learn."""
        self.learned.fill_(False)
        for name in names:
            self.learned[_rows(words_of(name)) + _rows(phrases_of(name))] = True

    def forward(self, vocabulary: Vocabulary) -> Tensor:
        """What the names of all entities say. (entities, dim)"""
        if self._parts is None or self._parts[0] is not vocabulary:
            parts = [[_rows(part(name)) for name in vocabulary.entities] for part in (words_of, phrases_of)]
            with torch.inference_mode(False):  # who only asks now may train later
                self._parts = vocabulary, [self._laid_out(rows) for rows in parts]
        words = self.words * self.learned[:, None]
        words_mean, phrases_mean = (
            functional.embedding_bag(rows, words, start, mode="mean") for rows, start in self._parts[1]
        )
        return words_mean + phrases_mean

    def _laid_out(self, rows: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Rows of all names end to end, and where each begins."""
        flat = torch.tensor([row for each in rows for row in each], dtype=torch.int64)
        end = torch.tensor([len(each) for each in rows], dtype=torch.int64).cumsum(0)
        start = functional.pad(end, (1, 0))[:-1]
        return flat.to(self.words.device), start.to(self.words.device)


def _rows(words: list[str]) -> list[int]:
    return [crc32(word.encode()) % BUCKETS for word in words]
