"""``titer compare``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from titer.cli.options import JsonOption, Split
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import RunError


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories.")],
    split: Annotated[Split, typer.Option(help="Which split's results to show.")] = Split.test,
    json: JsonOption = False,
) -> None:
    """Show the results of several runs side by side, each with the dataset and protocol it was measured by."""
    from titer.training.run import Run

    rows = [(path, found) for path in runs for found in _results(Run(path), split.value)]
    if json:
        say_json([{"run": str(path), **_without_breakdown(found)} for path, found in rows])
        return
    keys = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")
    say_table(
        ["run", "model", "dataset", "protocol", "questions", "MRR", "Hits@1", "Hits@3", "Hits@10"],
        [
            [
                str(path),
                found["model"],
                f"{found['dataset']['name']} {found['dataset']['checksum'][:8]}",
                _protocol(found["protocol"]),
                f"{found['queries']:,}",
                *(f"{100 * found['metrics'][key]:.2f}" for key in keys),
            ]
            for path, found in rows
        ],
        numbers_from=4,
    )
    if len({found["dataset"]["checksum"] for _, found in rows}) > 1:
        say()
        note("note: not all of these were measured on the same data; their numbers cannot be compared")
    if len({_protocol(found["protocol"]) for _, found in rows}) > 1:
        note("note: not all of these were measured by the same protocol; compare only rows that name the same one")


def _results(run: Any, split: str) -> list[dict[str, Any]]:
    found = [result for result in run.evaluations if result["split"] == split]
    if not found:
        raise RunError(f"{run.path} has no results on {split}: titer evaluate {run.path} --split {split} makes them")
    return found


def _protocol(protocol: dict[str, str | None]) -> str:
    return protocol["convention"] or "/".join(str(v) for k, v in protocol.items() if k != "convention")


def _without_breakdown(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "breakdown"}
