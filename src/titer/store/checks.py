"""Checks of facts before they are added."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from titer.data.dataset import Dataset
from titer.data.time_axis import MAX_STEPS, TimeAxis, TimeUnit
from titer.store.named import NamedFact, RefusedFactsError

MIN_FAR = 100
"""Time steps after the last known one that are never far, however short the history is."""


@dataclass(frozen=True)
class KnownTimes:
    """The first and the last time step of all known facts."""

    first: int
    last: int

    @property
    def far(self) -> int:
        """The last time step that is not far: as long after the last known step as the history is long."""
        return self.last + max(MIN_FAR, self.last - self.first + 1)


def check_names(facts: Sequence[NamedFact], dataset: Dataset) -> None:
    """Check relations and names.

    Raises:
        RefusedFactsError: Some facts have an unknown relation or an invalid name.
    """
    reasons = {}
    for place, fact in enumerate(facts):
        if fact.relation not in dataset.vocabulary.relation_ids:
            reasons[place] = f"unknown relation {fact.relation!r}"
        elif not all(map(_is_name, fact[:3])):
            reasons[place] = "a name is empty, is not valid Unicode, or contains a line break or a zero byte"
    if reasons:
        raise RefusedFactsError(reasons)


def check_times(
    facts: Sequence[NamedFact],
    new: list[int],
    known: KnownTimes,
    axis: TimeAxis,
    *,
    backfill: bool,
    allow_future: bool,
) -> None:
    """Check the times of facts that are not known yet.

    Args:
        facts: All given facts.
        new: The places of those that are new.
        known: The times of all known facts.
        axis: The calendar of the time steps.
        backfill: Whether facts before the last known step are accepted.
        allow_future: Whether facts after today or far after the last known step are accepted.

    Raises:
        RefusedFactsError: Some facts have an invalid time.
    """
    reasons: dict[int, str] = {}
    low, high = known.first, known.last  # also bounds the distance between new facts
    today = last_step_of_today(axis)
    for place in new:
        step = facts[place].step
        if max(high, step) - min(low, step) >= MAX_STEPS:
            reasons[place] = f"facts may not be {MAX_STEPS:,} or more steps apart"
        elif step < known.last and not backfill:
            ago = f"{axis.duration(known.last - step)} before the last known step, {axis.label(known.last)}"
            reasons[place] = f"{axis.label(step)} is {ago}; only a backfill accepts earlier facts"
        elif today is not None and step > today and not allow_future:
            reasons[place] = (
                f"{axis.label(step)} is after today; allow_future (--allow-future) accepts facts of the future"
            )
        elif step > known.far and not allow_future:
            ahead = f"{axis.duration(step - known.last)} after the last known step, {axis.label(known.last)}"
            reasons[place] = f"{axis.label(step)} is {ahead}; allow_future (--allow-future) accepts it"
        else:
            low, high = min(low, step), max(high, step)
    if reasons:
        raise RefusedFactsError(reasons)


def last_step_of_today(axis: TimeAxis) -> int | None:
    """Return the time step of the end of today, wherever on Earth it ends last; None if steps are not dates."""
    if axis.unit is TimeUnit.INTEGER:
        return None
    latest = (datetime.now(UTC) + timedelta(hours=14)).replace(tzinfo=None)
    return int(axis.steps_of_hours(np.datetime64(latest, "h")))


def _is_name(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a surrogate
        return False
    return bool(text) and not set(text) & set("\0\n\r")
