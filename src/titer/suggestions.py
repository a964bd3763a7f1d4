"""Suggestions for misspelt names."""

from collections.abc import Iterable

MIN_SCORE = 60.0
"""Similarity, in percent, below which a name is not worth suggesting."""


def suggest(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return the known names most similar to a misspelt one, most similar first.

    Args:
        name: What was written.
        known: The names that exist.
        limit: How many to return at most.
    """
    try:
        from rapidfuzz import fuzz, process, utils
    except ImportError:
        return []  # A machine that runs from source may lack it; an error without suggestions is still clear.
    found = process.extract(
        name, known, scorer=fuzz.WRatio, processor=utils.default_process, limit=limit, score_cutoff=MIN_SCORE
    )
    return [match for match, _, _ in found]
