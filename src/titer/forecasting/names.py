"""Entities and relations by the names that users type."""

import time
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from heapq import nsmallest

from titer.errors import UnknownNameError
from titer.suggestions import suggest

MAX_SUGGESTIONS = 5
MAX_CACHED = 10_000
"""Results of searches that are cached."""
SUGGESTION_SECONDS = 0.2
"""Processor time for suggestions after which names get none: a request may have hundreds of unknown names."""
SUGGESTION_SHARE = 0.1
"""Share of the time that may be spent on suggestions in the long run."""


def simplified(name: str) -> str:
    """Return a name in lower case, without the brackets and underscores of some datasets, and with single spaces."""
    name = unicodedata.normalize("NFKC", name)
    return " ".join(name.strip("<>").replace("_", " ").casefold().split())


class NameIndex:
    """Ids by name: an exact match first, then a match regardless of case, then an unambiguous prefix.

    Attributes:
        names: All names; the place of each is its id.
        what: What they name: ``"entity"`` or ``"relation"``.
    """

    def __init__(self, names: list[str], what: str):
        """Index names.

        Args:
            names: The names; the place of each is its id.
            what: What they name, for error messages: ``"entity"`` or ``"relation"``.
        """
        self.names = names
        self.what = what
        self._exact = {name: i for i, name in enumerate(names)}
        self._simple: dict[str, list[int]] = {}
        self._cache: dict[str, int | tuple[str, list[str]]] = {}
        self._spent, self._last_spent = 0.0, 0.0
        for i, name in enumerate(names):
            self._simple.setdefault(simplified(name), []).append(i)

    def known(self, typed: str) -> int | None:
        """Return the id with this whole name, regardless of case; None if there is none.

        Args:
            typed: The name, in any case.

        Returns:
            The id, or None.

        Raises:
            UnknownNameError: Several names differ only in case.
        """
        if typed in self._exact:
            return self._exact[typed]
        same = self._simple.get(simplified(typed), [])
        return self.find(typed) if same else None

    def find(self, typed: str) -> int:
        """Return the id of a name.

        Args:
            typed: The name, in any case, or any unambiguous prefix of it.

        Raises:
            UnknownNameError: The name is unknown or ambiguous; the error has suggestions.
        """
        if typed in self._exact:
            return self._exact[typed]
        # Questions often share names, and the search for an unknown one looks at all names.
        if typed not in self._cache:
            if len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            self._cache[typed] = self._search(typed)
        found = self._cache[typed]
        if isinstance(found, int):
            return found
        raise UnknownNameError(*found)

    def completions(self, typed: str, limit: int, counts: Sequence[int] | None = None) -> list[str]:
        """Return names that contain a text, short ones first, or frequent ones.

        Names that begin with the text come first, then names with a word that begins with it, then all others.

        Args:
            typed: The text.
            limit: How many names to return at most.
            counts: How often each name occurs, by id; frequent names then come before short ones.
        """
        wanted = simplified(typed)
        word = f" {wanted}"
        found: tuple[list[str], list[str], list[str]] = ([], [], [])
        for simple in self._simple:
            if wanted in simple:
                found[0 if simple.startswith(wanted) else 1 if word in simple else 2].append(simple)

        def order(simple: str) -> tuple[int, int, str]:
            often = 0 if counts is None else max([counts[i] for i in self._simple[simple]])
            return -often, len(simple), simple

        # A letter may match every name, so only the groups that are needed are sorted.
        names: list[str] = []
        for group in found:
            if len(names) < limit:
                best = nsmallest(limit - len(names), group, key=order)
                names += [self.names[i] for simple in best for i in self._simple[simple]]
        return names[:limit]

    def _search(self, typed: object) -> int | tuple[str, list[str]]:
        """Return an id, or an error message and suggestions."""
        if not isinstance(typed, str):
            return f"the name of the {self.what} must be text, such as {str(typed)!r}, not {typed!r}", []
        wanted = simplified(typed)
        if not wanted:
            return f"the name of the {self.what} is empty", []
        same = self._simple.get(wanted, [])
        matches = same or self._with_prefix(wanted)
        if len(matches) == 1:
            return matches[0]
        if matches:
            shown = [self.names[i] for i in sorted(matches, key=lambda i: (len(self.names[i]), i))[:MAX_SUGGESTIONS]]
            return f"ambiguous {self.what} {typed!r}: {len(matches):,} names match", shown
        return f"unknown {self.what} {typed!r}", self._suggestions(wanted)

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._simple)

    def _with_prefix(self, wanted: str) -> list[int]:
        """Return the ids of the names that begin with a text."""
        start = bisect_left(self._sorted, wanted)
        end = bisect_left(self._sorted, wanted + chr(0x10FFFF), start)
        return [i for simple in self._sorted[start:end] for i in self._simple[simple]]

    def _may_suggest(self) -> bool:
        """Return whether there is time for suggestions, which look at all names."""
        now = time.monotonic()
        self._spent = max(self._spent - SUGGESTION_SHARE * (now - self._last_spent), 0.0)
        self._last_spent = now
        return self._spent < SUGGESTION_SECONDS

    def _suggestions(self, wanted: str) -> list[str]:
        """Return names with a similar spelling, and names that contain the text."""
        if not self._may_suggest():
            return []
        suggest("", [])  # imports the library, which takes longer than a search
        started = time.thread_time()
        close = suggest(wanted, self._simple, MAX_SUGGESTIONS)
        inside = [simple for simple in self._simple if wanted in simple]
        if not close and not inside and " " not in wanted:  # perhaps a misspelt word of longer names
            word = suggest(wanted, {word for simple in self._simple for word in simple.split()})
            inside = [simple for simple in self._simple if word and word[0] in simple.split()]
        self._spent += time.thread_time() - started
        ordered = dict.fromkeys([*close[:2], *inside, *close])
        return [self.names[self._simple[simple][0]] for simple in list(ordered)[:MAX_SUGGESTIONS]]
