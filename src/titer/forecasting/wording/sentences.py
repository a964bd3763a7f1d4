"""Facts as sentences."""

import re
from collections.abc import Mapping

from titer.forecasting.wording.phrases import PHRASES

_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def sentence(subject: str, relation: str, object: str, phrases: Mapping[str, str] | None = None) -> str:
    """Return a fact as a sentence in the past tense, or its parts separated by dashes if the relation has no phrase.

    Args:
        subject: Name of the subject.
        relation: Name of the relation.
        object: Name of the object.
        phrases: The phrases of the dataset, by relation; they take precedence over the known ones.
    """
    phrase = (phrases or {}).get(relation) or PHRASES.get(relation_words(relation).casefold())
    if phrase is None:
        return f"{readable(subject)} — {relation_words(relation)} — {readable(object)}"
    phrase = phrase if "{}" in phrase else phrase + " {}"
    return f"{readable(subject)} {phrase.replace('{}', readable(object))}"


def readable(name: str) -> str:
    """Return a name without the brackets and underscores of some datasets."""
    return " ".join(name.strip("<>").replace("_", " ").split()) or name


def relation_words(relation: str) -> str:
    """Return a relation as words: ``<wasBornIn>`` becomes "was born in"."""
    words = readable(relation)
    return words if " " in words else _NEW_WORD.sub(" ", words).lower() if _NEW_WORD.search(words) else words
