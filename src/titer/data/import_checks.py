"""Checks of imported facts: times that would spoil forecasts, and names that are probably not meant."""

from datetime import date

import numpy as np

from titer.counted import counted
from titer.data.detection.dates import guess_dates
from titer.data.detection.proposal import MISSING_WORDS
from titer.data.readers.merging import MergedName
from titer.data.readers.options import TableOptions
from titer.data.readers.placing import FAR_YEARS
from titer.data.readers.tables import Table
from titer.data.time_axis import TimeAxis, TimeUnit
from titer.errors import DataError
from titer.suggestions import hint

MAX_EXPANDED = 1_000_000
"""Number of facts that intervals expand to without a warning."""
MIN_STEPS = 10
"""Number of time steps up to which gaps are not checked."""
MAX_OUTLIERS = 0.01
"""Share of facts that can be outliers."""
NAMES_SHOWN = 3


def check_table(table: Table, options: TableOptions, *, accept: bool = False, today: date | None = None) -> list[str]:
    """Return what may be wrong with imported facts.

    Args:
        table: The facts.
        options: How they were read.
        accept: Return as warnings also what is almost certainly wrong.
        today: The date after which facts are in the future.

    Raises:
        DataError: If times are almost certainly wrong, and ``accept`` is not set.
    """
    today = today or date.today()
    errors, warnings = _check_times(table, options, today)
    if errors and not accept:
        raise DataError("\n".join(errors) + "\n(--yes imports the file as it is)")
    if table.num_far_ends:
        text = f"{table.num_far_ends:,} ends are more than {FAR_YEARS} years after today, so they count as open"
        warnings.append(f"{text}; --latest DATE ends them")
    return [*errors, *warnings, *_check_names(table, options)]


def _check_times(table: Table, options: TableOptions, today: date) -> tuple[list[str], list[str]]:
    """Return what must be accepted, and what is only said."""
    axis = table.axis
    steps, counts = np.unique(table.facts.time, return_counts=True)
    if axis.unit is TimeUnit.INTEGER:
        return [], _check_integers(axis, steps, options)
    now = _step_of(axis, today)
    num_future = int(counts[steps > now].sum())
    last = axis.words(int(steps[-1]))
    errors: list[str] = []
    warnings: list[str] = []
    outlier = _first_outlier(steps, counts)
    if num_future and "%y" in (options.date_format or "") and options.pivot_year is None:
        errors.append(
            f"two-digit years reach into the future, to {last} ({counted(num_future, 'fact')} after today); "
            f"--pivot-year {today.year} reads them as years up to {today.year}"
        )
    elif outlier is not None:
        place, num_after = outlier
        before, after = axis.label(int(steps[place - 1])), axis.label(int(steps[place]))
        text = (
            f"facts far after the others ({num_after:,}): the rest ends at {before}, these begin at {after}; "
            f"a forecast of the next step would be about the time after {last}; --latest {before} leaves them out"
        )
        (errors if steps[place] > now else warnings).append(text)
    elif num_future:
        warnings.append(
            f"{num_future:,} of {counted(len(table.facts), 'fact')} are after today, the last in {last}; "
            f"--latest {axis.label(now)} leaves them out"
        )
    if gap := _longest_gap(steps if outlier is None else steps[: outlier[0]]):
        a, b = gap
        warnings.append(
            f"there are no facts for {axis.duration(b - a - 1)} between {axis.label(a)} and {axis.label(b)}; "
            f"--earliest {axis.label(b)} leaves out what was before"
        )
    return errors, warnings


def _step_of(axis: TimeAxis, day: date) -> int:
    return int(axis.steps_of_hours(np.datetime64(day).astype("datetime64[h]") + np.timedelta64(23, "h")))


def _first_outlier(steps: np.ndarray, counts: np.ndarray) -> tuple[int, int] | None:
    """Return where a few facts begin that are far after all others, and how many they are."""
    if len(steps) <= MIN_STEPS:
        return None
    after = counts.sum() - np.cumsum(counts)  # facts after each step
    gaps = np.diff(steps)
    spans = steps[:-1] - steps[0] + 1
    few = after[:-1] <= max(MAX_OUTLIERS * counts.sum(), 1)
    far = gaps > np.maximum(spans / 4, 10 * np.quantile(gaps, 0.9))
    far[:MIN_STEPS] = False
    places = np.flatnonzero(few & far)
    return (int(places[0]) + 1, int(after[places[0]])) if len(places) else None


def _longest_gap(steps: np.ndarray) -> tuple[int, int] | None:
    """Return the time steps around a gap that is a large part of the time, and longer than all others are."""
    if len(steps) <= MIN_STEPS:
        return None
    gaps = np.diff(steps)
    longest = int(np.argmax(gaps))
    span = int(steps[-1] - steps[0])
    if gaps[longest] < max(span / 5, 10 * np.quantile(gaps, 0.9)):
        return None
    return int(steps[longest]), int(steps[longest + 1])


def _check_integers(axis: TimeAxis, steps: np.ndarray, options: TableOptions) -> list[str]:
    if options.unit is not None:
        return []
    labels = [axis.label(step) for step in steps.tolist()]
    guess = guess_dates(labels)
    if guess is None or guess.is_integer or len(labels) < 2:
        return []
    if guess.date_format is None:
        return [f"the times {labels[0]} to {labels[-1]} are read as plain integers; --unit year reads them as years"]
    meaning = {"unix": "seconds since 1970", "unix_ms": "milliseconds since 1970"}.get(guess.date_format, "dates")
    return [
        f"the times {labels[0]} to {labels[-1]} are read as plain integers, but look like {meaning}; "
        f"--date-format {guess.date_format} reads them as such"
    ]


def _check_names(table: Table, options: TableOptions) -> list[str]:
    relations = set(table.vocabulary.relations)
    unused = [name for name in options.phrases if name not in relations]
    warnings = [f"no relation {name!r}, so its phrase is not used{hint(name, sorted(relations))}" for name in unused]
    names = {*table.vocabulary.entities, *table.vocabulary.relations}
    if words := [word for word in MISSING_WORDS if word in names]:
        shown = ",".join(words)
        warnings.append(f"{', '.join(map(repr, words))} is taken as a name; --missing {shown} treats it as no value")
    if table.merged and not options.merge_names:
        warnings.append(
            f"names that differ only in capitalisation or spaces are kept apart ({len(table.merged):,}), "
            f"such as {_examples(table.merged)}; --merge-names joins them"
        )
    return warnings


def _examples(merged: list[MergedName]) -> str:
    return ", ".join(f"{name.kept!r} and {name.others[0]!r}" for name in merged[:NAMES_SHOWN])
