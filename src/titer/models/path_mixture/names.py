"""What the words of a name say about an entity."""

import re
from collections.abc import Callable
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.nn import functional

from titer.data.vocabulary import Vocabulary

BUCKETS = 8192
"""Rows of the table; a word finds its row by its hash, so that names which come after training find theirs too."""


def words_of(name: str) -> list[str]:
    """The words of a name, and what stands in parentheses as a whole: Police (South Sudan)."""
    name = name.replace("_", " ").lower()
    return re.findall(r"\w+", name) + re.findall(r"\([^()]+\)", name)


def phrases_of(name: str) -> list[str]:
    """What stands outside of parentheses and what inside."""
    name = name.replace("_", " ").lower()
    return [re.sub(r"\([^()]*\)", "", name).strip(), *re.findall(r"\([^()]+\)", name)]


class Names(nn.Module):
    """The mean of the embeddings of a name's words."""

    def __init__(self, dim: int, phrases: bool):
        super().__init__()
        # Words that training never saw say nothing.
        self.words = nn.Parameter(torch.zeros(BUCKETS, dim))
        self.parts: list[Callable[[str], list[str]]] = [words_of, phrases_of] if phrases else [words_of]
        self._known: tuple[Vocabulary, list[tuple[Tensor, Tensor]]] | None = None

    def forward(self, vocabulary: Vocabulary) -> Tensor:
        """What the names of all entities say. (entities, dim)"""
        if self._known is None or self._known[0] is not vocabulary:
            self._known = vocabulary, [self._look_up(vocabulary, part) for part in self.parts]
        each = [functional.embedding_bag(words, self.words, start, mode="mean") for words, start in self._known[1]]
        return torch.stack(each).sum(dim=0)

    def _look_up(self, vocabulary: Vocabulary, part: Callable[[str], list[str]]) -> tuple[Tensor, Tensor]:
        words = [[crc32(word.encode()) % BUCKETS for word in part(name)] for name in vocabulary.entities]
        lengths = torch.tensor([0, *(len(each) for each in words)])
        place = self.words.device
        flat = torch.tensor([word for each in words for word in each], dtype=torch.int64)
        return flat.to(place), lengths.cumsum(0)[:-1].to(place)
