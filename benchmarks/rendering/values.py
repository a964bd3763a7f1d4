"""All values that a document may show: those of the files, and the means and deviations over seeds."""

import re
from collections.abc import Iterable, Iterator
from statistics import mean, stdev
from typing import Any

from rendering.files import Measurements, Row
from titer.evaluation import published

NUMBER = re.compile(r"(?<![\d.,])\d{1,3}\.\d\d(?![\d.])")
UNITS = re.compile(r"(?:\d+\.\d\d(?:, | and ))*\d+\.\d\d (?:s|ms|GB|M|bytes)\b")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
VERSION = re.compile(r"Python \d\.\d+")


def shown_figures(text: str) -> list[str]:
    """Return the numbers of a document that look like metrics: two decimals, from 1 on, without a unit, not in code."""
    for pattern in (CODE, UNITS, VERSION):
        text = pattern.sub("", text)
    return [number for number in NUMBER.findall(text) if float(number) >= 1]


def known_figures(measured: Measurements) -> set[str]:
    """Return every figure that follows from a file, as a document writes it."""
    found = set(_written(_numbers([*measured.notes.values()])))
    for rows in (*measured.rows.values(), *measured.faithfulness.values(), [*measured.small_world.values()]):
        for row in rows:
            found |= set(_written(_numbers([row]), 100))
    for rows in (*measured.rows.values(), *measured.trials.values()):
        found |= set(_written(_over_seeds(rows), 100))
    for name in dir(published):
        found |= set(_written(_numbers([getattr(published, name)])))
    found |= set(_written(value for model in published.MODELS for value in _main_table(model)))
    return found


def _main_table(model: str) -> Iterator[float]:
    for dataset in published.DATASETS:
        for metric in published.METRICS:
            if (value := published.published(model, dataset, metric)) is not None:
                yield value


def _over_seeds(rows: list[Row]) -> Iterator[float]:
    """Return means and deviations of all metrics of some results."""
    groups = [[row["conventions"][name] for row in rows] for name in ("realistic", "paper")] + [
        [row["entities"][group] for row in rows if group in row["entities"]] for group in ("seen", "unseen")
    ]
    for group in filter(None, groups):
        for metric in published.METRICS:
            values = [metrics[metric] for metrics in group]
            yield mean(values)
            if len(values) > 1:
                yield stdev(values)


def _written(values: Iterable[float], factor: float = 1) -> Iterator[str]:
    return (f"{factor * value:.2f}" for value in values)


def _numbers(values: Iterable[Any]) -> Iterator[float]:
    """Return all numbers in nested values."""
    for value in values:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            continue
        if isinstance(value, int | float):
            yield value
        elif isinstance(value, dict):
            yield from _numbers(value.values())
        elif isinstance(value, list | tuple):
            yield from _numbers(value)
