"""Results of the campaigns, from ``campaigns/``, and the cost of checksums."""

from typing import Any

from rendering.files import Measurements
from rendering.markdown import table


def campaign_table(measured: Measurements) -> list[str]:
    """Return one row for each campaign: what was tried, the problems that were found, and the time."""
    rows = [
        [
            f"`{name}.py`",
            f"{row['trials']:,} {row['unit']}",
            str(len(row["problems"])),
            f"{row['seconds'] / 60:.0f} min",
            f"`{row['commit'][:7]}`",
        ]
        for name, row in measured.campaigns.items()
    ]
    return table(["campaign", "tried", "problems", "time", "commit"], rows)


def campaign_figures(measured: Measurements) -> list[str]:
    """Return the figures of each campaign; lists, such as samples over time, are only in the files."""
    rows = [
        [f"`{name}.py`", title.replace("_", " "), _shown(value)]
        for name, row in measured.campaigns.items()
        for title, value in row["figures"].items()
        if not isinstance(value, list)
    ]
    return table(["campaign", "figure", "value"], rows)


def campaign_commands(measured: Measurements) -> list[str]:
    """Return the command of each campaign."""
    commands = [row["command"] for row in measured.campaigns.values()]
    return ["<!-- not run: it takes hours -->\n```sh", *commands, "```"] if commands else []


def checksum_table(measured: Measurements) -> list[str]:
    """Return the cost of checksums."""
    found = measured.checksums.get("milliseconds_per_gigabyte", {})
    rows = [[name, f"{value:,}"] for name, value in found.items()]
    return table(["", "ms of CPU time per GB"], rows) if rows else []


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
