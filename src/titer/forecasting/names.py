"""Names as people type them."""

import unicodedata
from difflib import get_close_matches
from functools import cached_property
from heapq import nsmallest

import numpy as np

from titer.errors import UnknownNameError

MAX_SUGGESTIONS = 5
MAX_COMPARED = 200
"""Names that are compared letter by letter with one that nobody has: those whose letters are most alike."""
LETTERS = 64
"""Kinds of letters that are told apart for that."""
MAX_REMEMBERED = 10_000
"""Names typed otherwise than they are written, or of nobody, that are not looked for again."""


def simplified(name: str) -> str:
    """A name without what people leave out: capitals, the brackets and underscores of some datasets, extra blanks."""
    name = unicodedata.normalize("NFKC", name)
    return " ".join(name.strip("<>").replace("_", " ").casefold().split())


class NameIndex:
    """Finds an id by a name: exactly, then whatever its capitals, then by a beginning that only one name has."""

    def __init__(self, names: list[str], what: str):
        self.names = names
        self.what = what
        self._exact = {name: i for i, name in enumerate(names)}
        self._simple: dict[str, list[int]] = {}
        self._found: dict[str, int | tuple[str, list[str]]] = {}
        for i, name in enumerate(names):
            self._simple.setdefault(simplified(name), []).append(i)

    def known(self, typed: str) -> int | None:
        """The id that goes by this whole name, whatever its capitals; none if nobody does."""
        if typed in self._exact:
            return self._exact[typed]
        same = self._simple.get(simplified(typed), [])
        return self.find(typed) if same else None

    def find(self, typed: str) -> int:
        """The id that a typed name means; raises with suggestions if that is nobody, or not only one."""
        if typed in self._exact:
            return self._exact[typed]
        # Many questions often share a name, and whoever is not known takes long to look for.
        if typed not in self._found:
            if len(self._found) >= MAX_REMEMBERED:
                self._found.clear()
            self._found[typed] = self._look_for(typed)
        found = self._found[typed]
        if isinstance(found, int):
            return found
        raise UnknownNameError(*found)

    def completions(self, typed: str, limit: int) -> list[str]:
        """Names that a typed text may become: those that begin with it, then those with a word that does, then others
        that have it; short ones first."""
        wanted = simplified(typed)
        ranked = []
        for simple, ids in self._simple.items():
            if wanted in simple:
                worse = 0 if simple.startswith(wanted) else 1 if f" {wanted}" in simple else 2
                ranked.append((worse, len(simple), simple, ids))
        return [self.names[i] for _, _, _, ids in nsmallest(limit, ranked) for i in ids][:limit]

    def _look_for(self, typed: str) -> int | tuple[str, list[str]]:
        """An id, or what is wrong with the name and the names that come closest."""
        wanted = simplified(typed)
        if not wanted:
            return f"an empty name is no {self.what}", []
        same = self._simple.get(wanted, [])
        matches = same or [i for simple, ids in self._simple.items() if simple.startswith(wanted) for i in ids]
        if len(matches) == 1:
            return matches[0]
        if matches:
            shown = [self.names[i] for i in sorted(matches, key=lambda i: (len(self.names[i]), i))[:MAX_SUGGESTIONS]]
            return f"{typed!r} could be any of {len(matches)} names", shown
        return f"there is no {self.what} {typed!r}", self._suggestions(wanted)

    def _suggestions(self, wanted: str) -> list[str]:
        """Names that are spelled alike, then names that have it in the middle."""
        close = get_close_matches(wanted, self._alike(wanted), MAX_SUGGESTIONS, cutoff=0.6)
        inside = [simple for simple in self._simple if wanted in simple]
        ordered = dict.fromkeys([*close[:2], *inside, *close])
        return [self.names[self._simple[simple][0]] for simple in list(ordered)[:MAX_SUGGESTIONS]]

    def _alike(self, wanted: str) -> list[str]:
        """Names that share most letters with another, in whatever order: the others cannot be spelled like it.

        2 · (letters in common) / (letters of both) is a bound on how alike two names are spelled.
        """
        common = np.minimum(self._letters, _letters([wanted])).sum(axis=1)
        bound = 2.0 * common / (self._letters.sum(axis=1) + len(wanted))
        names = list(self._simple)
        return [names[i] for i in np.argsort(-bound, kind="stable")[:MAX_COMPARED]]

    @cached_property
    def _letters(self) -> np.ndarray:
        return _letters(list(self._simple))


def _letters(names: list[str]) -> np.ndarray:
    """How often each kind of letter is in each name. (names, LETTERS)"""
    letters = np.frombuffer("".join(names).encode("utf-32-le", "surrogatepass"), dtype=np.uint32) % LETTERS
    whose = np.repeat(np.arange(len(names)), [len(name) for name in names])
    counts = np.bincount(whose * LETTERS + letters, minlength=len(names) * LETTERS)
    return counts.reshape(len(names), LETTERS).astype(np.uint16)
