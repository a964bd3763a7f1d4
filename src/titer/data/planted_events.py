"""A small invented dataset in which the probability of every event is known, to check event forecasts with.

It covers a year of days. Its facts do not belong to the small world, whose published numbers stay as they are. There are
three kinds:

- ``weekly``: pairs of councils meet on one day of the week, with a probability of 0.9.
- ``burst``: a union files a complaint against a company on any day with a probability of 0.02. On each of the eight days
  after one, it strikes with a probability of 0.7, and otherwise never.
- ``stopped``: guards patrol a bridge every day with a probability of 0.8, and half of them stop for good at a third of
  the year.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from titer.data.dataset import Dataset
from titer.data.facts import Facts
from titer.data.split import split_by_fraction
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.data.vocabulary import Vocabulary

NAME = "planted-events"
NUM_DAYS = 364
FIRST_DAY = "2023-01-02"  # a Monday
NUM_PAIRS = 20
"""Pairs of each kind."""
MEETING, COMPLAINT, STRIKE, PATROL = 0.9, 0.02, 0.7, 0.8
BURST_DAYS = 8
LAST_PATROL = NUM_DAYS // 3

Names = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class PlantedEvents:
    """The dataset, and the probability of each event given all facts before its day."""

    dataset: Dataset
    kinds: dict[Names, str]
    """The kind of each triple: weekly, complaint, burst or stopped."""
    probability: Callable[[Names, int], float]
    """The probability of a triple on a day, given all facts before it."""


@lru_cache(maxsize=2)
def planted_events(seed: int = 0) -> PlantedEvents:
    """Generate the dataset; the same seed gives the same dataset."""
    # Only random() is used, since its sequence is the same in every version of Python.
    chance = random.Random(seed).random
    kinds = _kinds()
    weekday = {names: int(chance() * 7) for names, kind in kinds.items() if kind == "weekly"}
    complaints: dict[Names, list[int]] = {}

    def probability(names: Names, day: int) -> float:
        kind = kinds[names]
        if kind == "weekly":
            return MEETING if day % 7 == weekday[names] else 0.0
        if kind == "complaint":
            return COMPLAINT
        if kind == "burst":
            cause = complaints.get((names[0], "file complaint against", names[2]), [])
            return STRIKE if any(1 <= day - filed <= BURST_DAYS for filed in cause) else 0.0
        stops = int(names[0].split()[-1]) % 2 == 0
        return 0.0 if stops and day >= LAST_PATROL else PATROL

    rows: list[tuple[Names, int]] = []
    for day in range(NUM_DAYS):
        happening = [names for names in kinds if chance() < probability(names, day)]
        for names in happening:
            rows.append((names, day))
            if kinds[names] == "complaint":
                complaints.setdefault(names, []).append(day)
    return PlantedEvents(_dataset(rows), kinds, probability)


def _kinds() -> dict[Names, str]:
    kinds: dict[Names, str] = {}
    for number in range(NUM_PAIRS):
        kinds[f"Council {number}", "meet", f"Council {(number + 1) % NUM_PAIRS}"] = "weekly"
        kinds[f"Union {number}", "file complaint against", f"Company {number}"] = "complaint"
        kinds[f"Union {number}", "strike against", f"Company {number}"] = "burst"
        kinds[f"Guard {number}", "patrol", f"Bridge {number}"] = "stopped"
    return kinds


def _dataset(rows: list[tuple[Names, int]]) -> Dataset:
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    facts: list[tuple[int, int, int, int]] = []
    for (subject, relation, object), day in rows:
        ids = (entities.setdefault(name, len(entities)) for name in (subject, object))
        s, o = ids
        facts.append((s, relations.setdefault(relation, len(relations)), o, day))
    splits = split_by_fraction(Facts.from_rows(facts), (0.8, 0.1, 0.1))
    return Dataset(NAME, Vocabulary(entities, relations), TimeAxis(TimeUnit.DAY, FIRST_DAY), *splits)
