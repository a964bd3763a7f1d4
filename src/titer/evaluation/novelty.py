"""Which facts are new: not true at the time step before, or never before."""

import numpy as np
from numpy.typing import NDArray

from titer.data.facts import Facts

NEVER = np.iinfo(np.int64).min
"""The time of an occurrence that does not exist."""
NOVELTY = {
    "repeated": "true at the step before",
    "new": "not true at the step before",
    "never_seen": "never true before",
}
"""The groups of facts, and what they mean. Facts that were never seen are also new."""


def last_occurrences(asked: Facts, known: Facts) -> NDArray[np.int64]:
    """Return when the same subject, relation and object last occurred before each fact.

    Args:
        asked: The facts to look up.
        known: All known facts. Only those before the time of a fact count for it.

    Returns:
        Time steps, ``NEVER`` for a fact without an earlier occurrence. (asked,)
    """
    if len(known) == 0 or len(asked) == 0:
        return np.full(len(asked), NEVER, dtype=np.int64)
    both = Facts.concatenate(known, asked)
    key = _keys(both)
    first = int(both.time.min())
    span = int(both.time.max()) - first + 1
    occurrence = key * span + (both.time.astype(np.int64) - first)
    occurrences, looked_up = np.sort(occurrence[: len(known)]), occurrence[len(known) :]
    place = np.searchsorted(occurrences, looked_up) - 1
    found = occurrences[place.clip(min=0)]
    is_same = (place >= 0) & (found // span == key[len(known) :])
    return np.where(is_same, found % span + first, NEVER)


def _keys(facts: Facts) -> NDArray[np.int64]:
    """Return a number for each fact that depends on its subject, relation and object only."""
    subject, relation, object = (column.astype(np.int64) for column in facts.columns[:3])
    _, pair = np.unique(subject * (int(object.max()) + 1) + object, return_inverse=True)
    _, key = np.unique(pair.astype(np.int64) * (int(relation.max()) + 1) + relation, return_inverse=True)
    return key.astype(np.int64)
