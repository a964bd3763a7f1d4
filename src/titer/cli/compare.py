"""``titer compare``."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titer.cli.options import JsonOption, Split
from titer.cli.screen import note, say, say_json, say_table
from titer.errors import RunError

if TYPE_CHECKING:
    from titer.evaluation.comparison import Measured


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run directories, results of titer reproduce, or folders of results."),
    ],
    split: Annotated[Split, typer.Option(help="Which split's results to show.")] = Split.test,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's main table: one row a model, the paper's figures beside ours.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the results of several runs side by side, each with the dataset and protocol it was measured by."""
    measured = [one for path in runs for one in _results(path, split.value)]
    (_show_beside_the_paper if paper else _show)(measured, json)


def _show(measured: "list[Measured]", json: bool) -> None:
    from titer.evaluation.published import METRICS

    if json:
        say_json([{"run": one.source, **_without_breakdown(one.found)} for one in measured])
        return
    say_table(
        ["run", "model", "dataset", "protocol", "questions", *METRICS.values()],
        [
            [
                one.source,
                one.model,
                f"{one.dataset['name']} {one.dataset['checksum'][:8]}",
                _protocol(one.found["protocol"]),
                f"{one.found['queries']:,}",
                *(f"{100 * one.found['metrics'][key]:.2f}" for key in METRICS),
            ]
            for one in measured
        ],
        numbers_from=4,
    )
    if len({one.dataset["checksum"] for one in measured}) > 1:
        say()
        note("note: not all of these were measured on the same data; their numbers cannot be compared")
    if len({_protocol(one.found["protocol"]) for one in measured}) > 1:
        note("note: not all of these were measured by the same protocol; compare only rows that name the same one")


def _show_beside_the_paper(measured: "list[Measured]", json: bool) -> None:
    from titer.evaluation.comparison import CONVENTION, main_table, standings
    from titer.evaluation.published import METRICS

    found = standings(measured)
    if not found:
        raise RunError(f"none of these was measured by the convention {CONVENTION!r}")
    if json:
        say_json(
            [
                {
                    "dataset": one.dataset,
                    "model": one.model,
                    "runs": [run.source for run in one.measured],
                    "ours": {metric: one.values(metric) for metric in METRICS},
                    "paper": {metric: one.published(metric) for metric in METRICS},
                }
                for one in found
            ]
        )
        return
    say(f"convention {CONVENTION!r}, times a hundred; means and deviations over several runs")
    for (dataset, checksum), group in groupby(found, key=lambda one: (one.dataset, one.checksum)):
        say()
        say(f"{dataset} {checksum[:8]}")
        say_table(*main_table(list(group)))
    for one in found:
        if not one.is_one_setting:
            note(f"note: the runs of {one.model} on {one.dataset} differ in more than their seeds")
    if left_out := sorted({one.variant for one in measured if one.variant}):
        note(f"note: results with other settings than the published ones are left out: {', '.join(left_out)}")


def _results(path: Path, split: str) -> "list[Measured]":
    from titer.evaluation.comparison import Measured
    from titer.runs.run import Run
    from titer.training.layout import CONFIG

    if path.is_file() or (path.is_dir() and not (path / CONFIG).is_file() and any(path.glob("*.json"))):
        files = [path] if path.is_file() else sorted(path.glob("*.json"))
        found = [one for one in map(Measured.of_result, files) if one.found["split"] == split]
        if not found:
            raise RunError(f"{path} has no results on {split}")
        return found
    run = Run(path)
    found = [Measured.of_run(str(path), result) for result in run.evaluations if result["split"] == split]
    if not found:
        raise RunError(f"{path} has no results on {split}: titer evaluate {path} --split {split} makes them")
    return found


def _protocol(protocol: dict[str, Any]) -> str:
    return protocol["convention"] or "/".join(str(v) for k, v in protocol.items() if k != "convention")


def _without_breakdown(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "breakdown"}
