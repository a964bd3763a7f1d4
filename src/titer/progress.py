"""Progress of long work: a bar on a terminal, and a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
FIRST_LINE, NEXT_LINES = 10.0, 30.0
"""Seconds until the first line of work that is not shown on a terminal, and between two lines."""


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield items, and show the progress on standard error.

    A terminal shows a progress bar. A log file receives a line after 10 seconds, and every 30 seconds from then on.

    Args:
        items: The items.
        description: What is in progress.
        total: The number of items, if ``items`` does not have a length.
    """
    if total is None and isinstance(items, Sequence):
        total = len(items)
    if not sys.stderr.isatty():
        yield from _with_lines(items, description, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(description, total=total)
        for item in items:
            yield item
            progress.advance(task)


def duration(seconds: float) -> str:
    """Return a duration in words, such as "40 s", "3 min" or "2 h 5 min"."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _with_lines(items: Iterable[Item], description: str, total: int | None) -> Iterator[Item]:
    started = time.monotonic()
    next_line = started + FIRST_LINE
    for done, item in enumerate(items):
        now = time.monotonic()
        if done and now >= next_line:
            next_line = now + NEXT_LINES
            left = "" if total is None else f", {duration((now - started) / done * max(total - done, 0))} left"
            count = f"{done:,}" if total is None else f"{done:,} of {total:,}"
            print(f"{description}: {count}{left}", file=sys.stderr, flush=True)
        yield item
