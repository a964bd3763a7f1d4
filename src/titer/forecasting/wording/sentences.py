"""Facts as sentences."""

import re

from titer.forecasting.wording.phrases import PHRASES

_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def sentence(subject: str, relation: str, object: str) -> str:
    """A fact as a sentence in the past tense, or with its parts set apart where the relation has no known phrase."""
    phrase = PHRASES.get(relation_words(relation).casefold())
    if phrase is None:
        return f"{readable(subject)} — {relation_words(relation)} — {readable(object)}"
    phrase = phrase if "{}" in phrase else phrase + " {}"
    return f"{readable(subject)} {phrase.replace('{}', readable(object))}"


def readable(name: str) -> str:
    """A name without the brackets and underscores of some datasets."""
    return " ".join(name.strip("<>").replace("_", " ").split()) or name


def relation_words(relation: str) -> str:
    """A relation as words: ``<wasBornIn>`` is "was born in"."""
    words = readable(relation)
    return words if " " in words else _NEW_WORD.sub(" ", words).lower() if _NEW_WORD.search(words) else words
