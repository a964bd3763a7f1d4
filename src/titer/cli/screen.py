"""Output of the commands: results on standard output, everything else on standard error."""

import json
import re
import shutil
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
    """Print a table as plain text, with the columns from ``numbers_from`` on aligned to the right.

    In a terminal that is too narrow, the columns are printed in parts, one below the other.
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for part, columns in enumerate(_column_groups(widths, terminal_width())):
        if part:
            say()
        for row in [header, ["-" * width for width in widths], *rows]:
            cells = [row[i].rjust(widths[i]) if i >= numbers_from else row[i].ljust(widths[i]) for i in columns]
            say("  ".join(cells).rstrip())


def terminal_width() -> int | None:
    """Return the width of the terminal in characters; None if standard output is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _column_groups(widths: Sequence[int], available: int | None) -> list[list[int]]:
    """Return the columns of each part of a table that fits, side by side; every part begins with the first column."""
    groups = [[0]]
    for column in range(1, len(widths)):
        needed = sum(widths[i] + 2 for i in groups[-1]) + widths[column]
        if available is not None and needed > available and len(groups[-1]) > 1:
            groups.append([0])
        groups[-1].append(column)
    return groups


def spark(values: Sequence[float]) -> str:
    """Return a line of text with one bar per value."""
    bars = "▁▂▃▄▅▆▇█"
    highest = max(values, default=0) or 1
    return "".join(bars[min(int(value / highest * len(bars)), len(bars) - 1)] for value in values)
