"""Output of the commands: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer


def say(text: str = "") -> None:
    """Print a line of the result."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a remark that is not part of the result."""
    typer.echo(text, err=True)


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error and exit with a nonzero status."""
    typer.echo(f"error: {message}", err=True)
    sys.exit(status)


def say_json(value: Any) -> None:
    """Print a result as JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def say_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers_from: int = 1) -> None:
    """Print a table as plain text, with the columns from ``numbers_from`` on aligned to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [
            cell.rjust(width) if i >= numbers_from else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say("  ".join(cells).rstrip())


def spark(values: Sequence[float]) -> str:
    """Return a line of text with one bar per value."""
    bars = "▁▂▃▄▅▆▇█"
    highest = max(values, default=0) or 1
    return "".join(bars[min(int(value / highest * len(bars)), len(bars) - 1)] for value in values)
