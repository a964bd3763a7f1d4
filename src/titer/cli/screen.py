"""Output of the commands: results on standard output, everything else on standard error."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

# Control characters but for tab and line feed, invisible ones, and those that change the direction of text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def say(text: str = "") -> None:
    """Print a line of the result."""
    typer.echo(visible(text))


def note(text: str) -> None:
    """Print a remark that is not part of the result."""
    typer.echo(visible(text), err=True)


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error and exit with a nonzero status."""
    typer.echo(visible(f"error: {message}"), err=True)
    sys.exit(status)


def say_json(value: Any) -> None:
    """Print a result as JSON."""
    typer.echo(_UNSAFE.sub(_json_escape, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def visible(text: str) -> str:
    """Return a text with control characters escaped: names may contain commands for the terminal."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


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
