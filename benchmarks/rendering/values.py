"""The figures that a document may show outside of its rendered blocks."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rendering.files import Measurements

NUMBER = re.compile(r"(?<![\d.,])\d{1,3}\.\d\d(?!\d|\.\d)")
UNITS = re.compile(r"(?:\d+\.\d\d(?:, | and ))*\d+\.\d\d (?:s|ms|GB|M|bytes)\b")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
VERSION = re.compile(r"Python \d\.\d+(?: to \d\.\d+)?")

SOURCES = {
    "benchmarks/RESULTS.md": ("titer",),
    "benchmarks/path_mixture.md": ("path_mixture",),
    "benchmarks/speed.md": ("speed", "path_mixture"),
    "docs/event-results.md": ("events",),
    "docs/training.md": ("speed",),
}
"""Documents that may write figures by hand, and the logs in ``notes/`` that must have them.

Everywhere else figures belong into blocks. All results together would be a useless source: more than half of all
numbers are a metric of one of them.
"""


def shown_figures(text: str) -> list[str]:
    """Return the numbers of a document that look like metrics: two decimals, from 1 on, without a unit, not in code."""
    for pattern in (CODE, UNITS, VERSION):
        text = pattern.sub("", text)
    return [number for number in NUMBER.findall(text) if float(number) >= 1]


def known_figures(measured: Measurements, document: str) -> set[str]:
    """Return the figures that a document may write by hand, given its path in the repository."""
    return {f"{value:.2f}" for name in SOURCES.get(document, ()) for value in _numbers([measured.notes[name]])}


def _numbers(values: Iterable[Any]) -> Iterator[float]:
    """Return all numbers in nested values."""
    for value in values:
        if isinstance(value, int | float):
            yield value
        elif isinstance(value, dict):
            yield from _numbers(value.values())
        elif isinstance(value, list):
            yield from _numbers(value)
