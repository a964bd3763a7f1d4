"""Suggestions for misspelt names."""

from collections.abc import Iterable, Sequence

from titer.errors import did_you_mean

MIN_SIMILARITY = 60.0
"""Similarity, in percent, below which a name is not suggested."""


def suggest(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return the known names most similar to a misspelt one, most similar first, regardless of case.

    Args:
        name: What was written.
        known: The names that exist.
        limit: How many to return at most.
    """
    try:
        from rapidfuzz import fuzz, process
        from rapidfuzz.distance import Prefix
    except ImportError:
        return []  # A machine that runs from source may lack it; an error without suggestions is still clear.
    wanted = name.casefold()
    spellings = {spelling.casefold(): spelling for spelling in known}
    # The plain ratio takes 0.2 s for 500,000 names; the weighted one takes ten times as long and matches worse.
    similar = process.extract(wanted, list(spellings), scorer=fuzz.ratio, limit=2 * limit, score_cutoff=MIN_SIMILARITY)
    # Of equally similar names, one with the same beginning is more likely to be meant.
    similar.sort(key=lambda match: (-match[1], -Prefix.similarity(wanted, match[0])))
    return [spellings[match] for match, _, _ in similar[:limit]]


def hint(name: str, known: Sequence[str]) -> str:
    """Return the end of an error message about an unknown name: the most similar known name, or all of them.

    Args:
        name: What was written.
        known: The names that exist, few enough to be listed.
    """
    return did_you_mean(suggest(name, known)) or f"; choose from {', '.join(known) or 'none'}"
