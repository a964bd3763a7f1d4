"""A small dataset, and facts that continue it."""

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary
from titer.store.facts import NamedFact

AXIS = TimeAxis(TimeUnit.DAY, "2018-10-01")
VOCABULARY = Vocabulary(["Ada", "Ben", "Cleo"], ["visit", "praise"])
LAST_STEP = 4


def dataset(name: str = "people", rows: list[tuple[int, int, int, int]] | None = None) -> Dataset:
    """Return a dataset with facts from 1 to 5 October 2018."""
    rows = rows or [(0, 0, 1, 0), (1, 1, 2, 1), (2, 0, 0, 2), (0, 0, 1, 3), (1, 1, 0, LAST_STEP)]
    facts = Facts.from_rows(rows)
    return Dataset(name, VOCABULARY, AXIS, facts[:3], facts[3:4], facts[4:])


def visit(subject: str, object: str, step: int) -> NamedFact:
    return NamedFact(subject, "visit", object, step)
